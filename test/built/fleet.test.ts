// Commands with a state server: sharing between machines, rejected settings, and outages.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { run } from '../../src/cli/program.ts';
import { createClient } from '../../src/client.ts';
import { systemClock } from '../../src/clock.ts';
import { needs } from '../support/capabilities.ts';
import { ManualClock } from '../support/fake-clock.ts';
import { quotaHeaders, startHttpFake } from '../support/http-fake.ts';
import { place, until } from '../support/processes.ts';
import { petstore } from '../support/program.ts';
import { RedisServer } from '../support/redis-server.ts';
import { tempDir } from '../support/temp-dir.ts';
import { inProcess, serving, world } from '../support/world.ts';

const withServer = needs('redis');

const KEY = 'k_0123456789abcdef';
const CREATE = ['categories', 'create', '--name', 'dog'];
const quotaLine = expect.stringMatching(/^quota: 41 of 60 left, resets in \d+s\n$/);

const categories: { id: number; name: string }[] = [];
const sent = (): string[] => service.requests.map(({ method }) => method);

const service = await startHttpFake(({ method, body }) => {
  if (method === 'GET') return { body: categories };
  const category = { id: categories.length + 1, name: (JSON.parse(body) as { name: string }).name };
  categories.push(category);
  return { status: 201, body: category, headers: quotaHeaders(41) };
});
afterAll(service.close);
beforeEach(() => void service.requests.splice(0));

/** The settings that machines share; their directories differ. */
function machine(url: string, more: Record<string, string> = {}): Record<string, string> {
  return { PETSTORE_BASE_URL: service.url, PETSTORE_API_KEY: KEY, PETSTORE_STATE_URL: url, ...more };
}

function rows(): string {
  const file = join(tempDir(), 'rows.csv');
  writeFileSync(file, 'name\ncat\nhorse\n');
  return file;
}

withServer('machines and the library share one rate limit on a state server with a password', async () => {
  await using server = await RedisServer.start({ args: ['--requirepass', 'the-password'] });
  const env = machine(server.url, { PETSTORE_STATE_PASSWORD: 'the-password' });
  const first = await inProcess(CREATE, { env });
  expect([first.code, first.err]).toEqual([0, quotaLine]);
  const stateServer = `127.0.0.1:${server.port}`;
  const { out } = await inProcess(['quota', '--json'], { env });
  expect(JSON.parse(out)).toMatchObject({ remaining: 41, stateServer });
  expect((await inProcess(['quota'], { env })).out).toContain(`with all machines that use ${stateServer}`);
  const alone = await inProcess(['quota', '--json'], { env: machine('') });
  expect(JSON.parse(alone.out)).toMatchObject({ remaining: null, stateServer: null });
  const state = { stateDir: tempDir(), stateUrl: server.url, statePassword: 'the-password' };
  await using client = createClient({ baseUrl: service.url, apiKey: KEY, ...state });
  expect(client.quota()).toMatchObject({ remaining: null });
  await client.categories.list();
  // The list had no headers: it counts in the window that the create reported.
  expect(client.quota()).toMatchObject({ remaining: 40, stateServer });
});

withServer('a client that is closed during a list shares the 429 of this list with the other machines', async () => {
  await using server = await RedisServer.start();
  let respond = (): void => undefined;
  const closing = new Promise<void>((resolve) => {
    respond = resolve;
  });
  const limited = await startHttpFake(async () => {
    await closing;
    // The record can only be written once the server runs again.
    await server.kill();
    return { status: 429, headers: { 'retry-after': '60' } };
  });
  // The client retries for 5 s of its own clock, which stands still.
  const stopped = vi.spyOn(systemClock, 'monotonic').mockReturnValue(0);
  onTestFinished(() => stopped.mockRestore());
  const warnings: string[] = [];
  const machineOf = () =>
    createClient({
      ...{ baseUrl: limited.url, apiKey: KEY, stateDir: null, stateUrl: server.url, maxWaitMs: 0, maxRetries: 0 },
      onWarning: (text) => void warnings.push(text),
    });
  const [one, two] = [machineOf(), machineOf()];
  const listed = expect(one.categories.list()).rejects.toMatchObject({ kind: 'rate_limited', status: 429 });
  await until(() => limited.requests.length > 0);
  const closed = one.close();
  respond();
  await until(() => warnings.length > 0);
  await server.start();
  await Promise.all([closed, listed]);
  // Nothing is sent: the service would respond with a 429.
  await expect(two.categories.list()).rejects.toMatchObject({ kind: 'rate_limited', status: undefined });
  expect(two.quota().blocked).toMatchObject({ reason: 'retry_after' });
  await two.close();
  // An open connection would keep a program running.
  const clients = () => server.command('INFO', 'clients');
  await vi.waitFor(async () => expect(await clients()).toContain('connected_clients:1\r'), 30_000);
  expect(warnings).toEqual([expect.stringContaining('retrying for up to 5s')]);
  expect(limited.requests).toHaveLength(1);
  limited.close();
});

withServer('a command shares the quota of its response with the other machines before it ends', async () => {
  await using server = await RedisServer.start();
  const service = await serving(async () => {
    // The record can only be written once the server runs again.
    await server.kill();
    return { status: 201, body: { id: 1, name: 'dog' }, headers: quotaHeaders(41) };
  });
  // The command retries for 5 s of its own clock, which stands still.
  const stopped = vi.spyOn(systemClock, 'monotonic').mockReturnValue(0);
  onTestFinished(() => stopped.mockRestore());
  const env = machine(server.url, service.env);
  const context = world(CREATE, { env });
  const ended = run(context);
  await until(() => context.stderr.text().includes('retrying for up to 5s'));
  await server.start();
  expect(await ended).toBe(0);
  const { out } = await inProcess(['quota', '--json'], { env });
  expect(JSON.parse(out)).toMatchObject({ remaining: 41 });
});

test('with an unavailable state server, an import exits with code 9 and sends nothing, but the sandbox works', async () => {
  const env = machine('redis://127.0.0.1:1');
  const imported = await inProcess(['categories', 'import', rows(), '--yes'], { env });
  expect([imported.code, sent()]).toEqual([9, []]);
  expect(imported.err).toMatch(/^error: cannot use state server 127\.0\.0\.1:1: connection refused\nhint: /m);
  const inSandbox = await inProcess([...CREATE, '-p', 'sandbox', '-q'], { env });
  expect(inSandbox).toMatchObject({ code: 0, err: '' });
});

withServer(
  'an untrusted certificate of the state server causes exit code 2, unless NODE_EXTRA_CA_CERTS trusts it',
  async () => {
    await using secure = await RedisServer.start({ tls: true });
    const untrusted = await inProcess(CREATE, { env: machine(secure.url) });
    expect([untrusted.code, sent()]).toEqual([2, []]);
    expect(untrusted.err).toContain('its certificate is not trusted');
    const trusted = await petstore(place(machine(secure.url, { NODE_EXTRA_CA_CERTS: secure.certFile })), CREATE);
    expect([trusted.code, trusted.err]).toEqual([0, quotaLine]);
  },
);

withServer('the ACL user of docs/fleet.md has all permissions that petstore needs', async () => {
  const page = readFileSync(join(import.meta.dirname, '../../docs/fleet.md'), 'utf8');
  const [, permissions = ''] = /ACL SETUSER petstore (on [^`\n]*)/.exec(page) ?? [];
  const user = permissions.replace('>PASSWORD', '>the-password').split(' ');
  await using limited = await RedisServer.start({ args: ['--user', 'default', 'off', '--user', 'petstore', ...user] });
  const url = limited.url.replace('//', '//petstore@');
  const env = machine(url, { PETSTORE_STATE_PASSWORD: 'the-password' });
  const doctor = await inProcess(['doctor', '--json'], { env });
  expect(JSON.parse(doctor.out)).toContainEqual(expect.objectContaining({ id: 'state_server', status: 'ok' }));
  const clock = new ManualClock(Date.now());
  const imported = await clock.drive(inProcess(['categories', 'import', rows(), '--yes'], { env, clock }));
  expect(imported.code).toBe(0);
});
