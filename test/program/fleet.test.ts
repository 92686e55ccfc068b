// The program with a state server: what machines share, what is refused, and that no command hangs without it.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createClient } from '../../src/client.ts';
import type { HttpFake } from '../support/http-fake.ts';
import { startHttpFake } from '../support/http-fake.ts';
import { place } from '../support/processes.ts';
import { petstore } from '../support/program.ts';
import { hasStateServer, RedisServer } from '../support/redis-server.ts';
import { tempDir } from '../support/temp-dir.ts';
import { inProcess } from '../support/world.ts';

const withServer = test.runIf(hasStateServer);

const KEY = 'k_0123456789abcdef';
const CREATE = ['categories', 'create', '--name', 'dog'];
// The user that docs/fleet.md recommends.
const ACL_LINE = /ACL SETUSER petstore (on .*)/.exec(
  readFileSync(join(import.meta.dirname, '../../docs/fleet.md'), 'utf8'),
)?.[1];

const quotaLine = expect.stringMatching(/^quota: 41 of 60 left, resets in \d+s\n$/);

let service: HttpFake;
let server: RedisServer;
const categories: { id: number; name: string }[] = [];
const sent = (): string[] => service.requests.map(({ method }) => method);

beforeAll(async () => {
  service = await startHttpFake(({ method, body }) => {
    const headers = { 'x-ratelimit-limit': '60', 'x-ratelimit-remaining': '41', 'x-ratelimit-reset': '30' };
    if (method === 'GET') return { body: categories, headers };
    const category = { id: categories.length + 1, name: (JSON.parse(body) as { name: string }).name };
    categories.push(category);
    return { status: 201, body: category, headers };
  });
  server = await RedisServer.start({ args: ['--appendonly', 'yes'] });
});
afterAll(async () => {
  service.close();
  await server.kill();
});
beforeEach(() => void service.requests.splice(0));

/** The environment of a machine; each call is another machine. */
function machine(url: string, more: Record<string, string> = {}): Record<string, string> {
  return { PETSTORE_BASE_URL: service.url, PETSTORE_API_KEY: KEY, PETSTORE_STATE_URL: url, ...more };
}

function rows(): string {
  const file = join(tempDir(), 'rows.csv');
  writeFileSync(file, 'name\ncat\nhorse\n');
  return file;
}

const dead = 'redis://127.0.0.1:1';

withServer('what one machine learns of the rate limit is known on another', async () => {
  const first = await petstore(place(machine(server.url)), CREATE);
  expect([first.code, first.err]).toEqual([0, quotaLine]);
  const second = await petstore(place(machine(server.url)), ['quota', '--json']);
  expect(JSON.parse(second.out)).toMatchObject({ remaining: 41, stateServer: `127.0.0.1:${server.port}` });
  const text = await inProcess(['quota'], { env: machine(server.url) });
  expect(text.out).toContain(`with all machines that use 127.0.0.1:${server.port}`);
  const alone = await inProcess(['quota', '--json'], { env: machine('') });
  expect(JSON.parse(alone.out)).toMatchObject({ remaining: null, stateServer: null });
});

withServer(
  'a server that is away at the start is one warning, and the command goes ahead with this machine’s ledger',
  async () => {
    const { code, err } = await inProcess(CREATE, { env: machine(dead) });
    expect(code).toBe(0);
    expect(err.match(/^warning: .*$/gm)).toEqual([
      'warning: the state server at 127.0.0.1:1 cannot be used (connection refused); sharing the rate limit on this machine only',
    ]);
  },
);

withServer('an import without its server is exit 9, and nothing is sent', async () => {
  const { code, err } = await inProcess(['categories', 'import', rows(), '--yes'], { env: machine(dead) });
  expect([code, sent()]).toEqual([9, []]);
  expect(err).toMatch(/^error: the state server at 127\.0\.0\.1:1 cannot be used: connection refused\nhint: /m);
});

withServer('an import is journaled on the server alone, and another machine knows what was created', async () => {
  const file = rows();
  const first = await inProcess(['categories', 'import', file, '--yes', '--json'], { env: machine(server.url) });
  expect(JSON.parse(first.out)).toMatchObject({ created: [{ name: 'cat' }, { name: 'horse' }], pending: 0 });
  service.requests.splice(0);
  const second = await inProcess(['categories', 'import', file, '--yes', '--json', '--dry-run'], {
    env: machine(server.url),
  });
  expect(second.code).toBe(0);
  expect(sent()).toEqual(['GET']);
  expect(JSON.parse(second.out)).toMatchObject({ toCreate: [] });
});

withServer.each([
  ['a wrong password', { PETSTORE_STATE_PASSWORD: 'the-wrong-password' }, /user name or password rejected/],
  ['a user without permission', { user: 'guest', PETSTORE_STATE_PASSWORD: 'guest-password' }, /NOPERM/],
])('%s is exit 2, and nothing is sent', async (_name, { user, ...env }: Record<string, string>, message) => {
  const guest = ['--user', 'guest', 'on', '>guest-password', '~other:*', '+@all'];
  await using closed = await RedisServer.start({ args: ['--requirepass', 'the-right-password', ...guest] });
  const url = closed.url.replace('//', user ? `//${user}@` : '//');
  for (const words of [CREATE, ['categories', 'import', rows(), '--yes'], ['doctor']]) {
    const { code, err, out } = await inProcess(words, { env: machine(url, env) });
    expect([words[0], code]).toEqual([words[0], 2]);
    expect(out + err).toMatch(message);
    expect(out + err).not.toMatch(/the-wrong-password|guest-password/);
  }
  expect(sent()).toEqual([]);
});

withServer('a certificate that is not trusted is exit 2; NODE_EXTRA_CA_CERTS can trust it', async () => {
  await using secure = await RedisServer.start({ tls: true });
  const refused = await petstore(place(machine(secure.url)), CREATE);
  expect([refused.code, sent()]).toEqual([2, []]);
  expect(refused.err).toContain('its certificate is not trusted');
  const trusted = await petstore(place(machine(secure.url, { NODE_EXTRA_CA_CERTS: secure.certFile })), CREATE);
  expect([trusted.code, trusted.err]).toEqual([0, quotaLine]);
});

withServer.each(['http://h', 'redis://u:the-password@', 'redis://h/name'])(
  '"%s" is exit 2, and not repeated',
  async (url) => {
    const { code, err } = await inProcess(CREATE, { env: machine(url) });
    expect([code, sent()]).toEqual([2, []]);
    expect(err).toMatch(/^error: PETSTORE_STATE_URL /);
    expect(err).not.toContain('the-password');
  },
);

withServer('the ACL user of the documentation may do all that is needed', async () => {
  expect(ACL_LINE).toBeDefined();
  const user = (ACL_LINE ?? '').replace('>PASSWORD', '>the-password').split(' ');
  await using limited = await RedisServer.start({ args: ['--user', 'default', 'off', '--user', 'petstore', ...user] });
  const url = limited.url.replace('//', '//petstore@');
  const env = machine(url, { PETSTORE_STATE_PASSWORD: 'the-password' });
  const doctor = await inProcess(['doctor', '--json'], { env });
  expect(JSON.parse(doctor.out)).toContainEqual(expect.objectContaining({ id: 'state_server', status: 'warning' }));
  const imported = await inProcess(['categories', 'import', rows(), '--yes'], { env });
  expect(imported.code).toBe(0);
  expect(imported.err).toContain('warning: the state server at');
});

withServer('the doctor names the server, and says nothing of one that is not configured', async () => {
  const { out } = await inProcess(['doctor'], { env: machine(server.url) });
  expect(out).toMatch(
    new RegExp(`ok +State server +127\\.0\\.0\\.1:${server.port} responded, no TLS, append-only file on`),
  );
  const { out: alone } = await inProcess(['doctor'], { env: machine('') });
  expect(alone).not.toContain('State server');
});

withServer('the sandbox does not use the server', async () => {
  const { code, err } = await inProcess([...CREATE, '-p', 'sandbox'], { env: { PETSTORE_STATE_URL: dead } });
  expect([code, err]).not.toContain('warning');
  expect(code).toBe(0);
});

withServer('clients of the library share what they learn', async () => {
  await using failing = await RedisServer.start();
  const warnings: string[] = [];
  const stateDir = tempDir();
  const options = { baseUrl: service.url, apiKey: KEY, stateDir, stateUrl: failing.url };
  const client = createClient({ ...options, onWarning: (text) => warnings.push(text) });
  expect(client.quota()).toMatchObject({ shared: true, window: undefined });
  await client.categories.create({ name: 'dog' });
  await client.close();
  expect(client.quota().window?.remaining).toBe(41);
  const other = createClient(options);
  await other.categories.list();
  expect(other.quota()).toMatchObject({ stateServer: `127.0.0.1:${failing.port}`, window: { remaining: 41 } });
  await other.close();
  expect(warnings).toEqual([]);
});

withServer('the client library refuses a wrong address and a wrong password', async () => {
  const options = { baseUrl: service.url, apiKey: KEY, stateDir: tempDir() };
  expect(() => createClient({ ...options, stateUrl: 'http://h' })).toThrow(/^stateUrl must be a redis:/);
  await using closed = await RedisServer.start({ args: ['--requirepass', 'the-right-password'] });
  const client = createClient({ ...options, stateUrl: closed.url, statePassword: 'the-wrong-password' });
  await expect(client.categories.list()).rejects.toMatchObject({ kind: 'usage' });
  await client.close();
  expect(sent()).toEqual([]);
});
