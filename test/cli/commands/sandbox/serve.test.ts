// `petstore sandbox` and the profile "sandbox": output, invalid options and exit codes.
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { run } from '../../../../src/cli/program.ts';
import { PetstoreError } from '../../../../src/errors.ts';
import { FAULT_KINDS } from '../../../../src/sandbox/faults.ts';
import { startTestSandbox } from '../../../sandbox/support.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { tempDir } from '../../../support/temp-dir.ts';
import type { WorldOptions } from '../../../support/world.ts';
import { inProcess, world } from '../../../support/world.ts';

/** Runs `petstore sandbox` in this process, until `stop` or the end of the test. */
async function serve(args: readonly string[], options: WorldOptions = {}) {
  const interrupt = new AbortController();
  const { signal } = interrupt;
  const context = world(['sandbox', '--port', '0', ...args], { ...options, signal });
  const done = run(context);
  const stop = (): Promise<number> => {
    interrupt.abort(new PetstoreError('interrupted', 'terminated', { exitCode: 143 }));
    return done;
  };
  onTestFinished(async () => void (await stop()));
  const { stdout, stderr } = context;
  await vi.waitUntil(() => stdout.text().includes('/v1'), { interval: 1 });
  const [, url = ''] = /(http:\/\/127\.0\.0\.1:\d+\/v1)/.exec(stdout.text()) ?? [];
  const [, key = ''] = /^ {2}key {3}(\S+)$/m.exec(stdout.text()) ?? [];
  return { url, key, out: stdout.text, err: stderr.text, stop };
}

const get = (url: string, key: string, path = '/categories'): Promise<Response> =>
  fetch(`${url}${path}`, { headers: { authorization: `Bearer ${key}`, connection: 'close' } });

test('`petstore sandbox` prints its limits, URL and key, and reports no error when it is terminated', async () => {
  const { out, err, url, key, stop } = await serve(['--quiet']);
  expect(out()).toContain('plan free: 60/1m, 1000/1d\n');
  expect(out()).toContain(`\n\n  URL   ${url}\n  key   sandbox_`);
  expect(out()).toContain(`\n  petstore auth login local --url ${url}\n  petstore categories list -p local\n`);
  expect(out()).toContain(`\n  export PETSTORE_BASE_URL=${url}\n  export PETSTORE_API_KEY=${key}\n`);
  const response = await get(url, key);
  expect([response.status, await response.text()]).toEqual([200, '[]']);
  expect([await stop(), err()]).toEqual([143, '']);
});

test('`sandbox --json` prints one document and no request log', async () => {
  const more = ['--limit', '60/6s', '--fault', '503:10', '--seed', '7'];
  const { out, err, url, stop } = await serve(['--json', ...more]);
  const info = JSON.parse(out());
  const shown = { limits: [{ requests: 60, seconds: 6 }], data: expect.stringMatching(/sandbox/), faults: ['503:10'] };
  const { key } = info;
  expect(info).toEqual({ url, key, keys: [key], plan: 'custom', ...shown, seed: 7 });
  await get(url, key);
  expect([await stop(), err()]).toEqual([143, '']);
});

test.each([
  ['plan', ['--plan', 'enterprise'], /^Pet store sandbox, plan enterprise: unlimited$/m],
  ['limits', ['--limit', '60/6s', '--limit', '90/1m'], /plan custom: 60\/6s, 90\/1m$/m],
  ['faults', ['--fault', '503', '--fault', '500:5'], /^ {2}faults {2}503, 500:5 \(reproduce with --seed \d+\)$/m],
  [
    'keys',
    ['--key', 'sandbox_anna_1', '--key', 'sandbox_bob_2'],
    /^ {2}key {3}sandbox_anna_1\n {2}key {3}sandbox_bob_2$/m,
  ],
])('`petstore sandbox` prints the %s that its options set', async (_what, args, line) => {
  const { out } = await serve(args);
  expect(out()).toMatch(line);
});

test.each([
  ['sandbox', '/categories', 'GET /v1/categories 200, 59 left'],
  ['sandbox', '/%1b[31m?key=another_users_key_9999', 'GET /v1/%1b[31m?[redacted] 404, 59 left'],
  ['sandbox --fault 500', '/categories', 'GET /v1/categories 500, 59 left, fault 500'],
  ['sandbox --fault reset', '/categories', 'GET /v1/categories -, 59 left, fault reset'],
  ['sandbox --fault latency=0.1s', '/categories', 'GET /v1/categories 200, 59 left, fault latency'],
  ['sandbox --limit 1000000/1m', '/categories', 'GET /v1/categories 200, 999,999 left'],
  ['sandbox --plan enterprise', '/categories', 'GET /v1/categories 200'],
])('`petstore %s` logs a request to %s as one line, the time and "%s"', async (command, path, line) => {
  const clock = new FakeClock(new Date(2026, 10, 21, 9, 5, 7).getTime());
  const { url, key, err, stop } = await serve(command.split(' ').slice(1), { clock });
  await get(url, key, path).catch(() => undefined);
  await stop();
  expect(err()).toBe(`09:05:07 ${line}\n`);
});

test('commands with the profile "sandbox" share data with `petstore sandbox`, and a rate-limit window with each other', async () => {
  const [dir, clock] = [tempDir(), new FakeClock()];
  const { url } = await serve(['--key', 'sandbox_alice_0001'], { dir });
  for (const [at, left] of [59, 58].entries()) {
    const run = await inProcess(['categories', 'create', '--name', 'dog', '-p', 'sandbox'], { dir, clock });
    const quota = `quota (sandbox): ${left} of 60 left`;
    expect(run).toMatchObject({ out: `Created category "dog" (id ${at + 1})\n`, err: expect.stringContaining(quota) });
  }
  expect(await (await get(url, 'sandbox_alice_0001')).text()).toBe('[{"id":1,"name":"dog"},{"id":2,"name":"dog"}]');
});

test('`sandbox --reset` on a busy port deletes nothing and prints the hint to use `--port 0`', async () => {
  const data = join(tempDir(), 'data');
  const { port, create, list } = await startTestSandbox({ data });
  await create({ name: 'dog' });
  const err = `error: port ${port} is in use\nhint: use --port 0 to choose a free port\n`;
  const busy = await inProcess(['sandbox', '--port', String(port), '--data', data, '--reset']);
  expect(busy).toEqual({ code: 2, out: '', err });
  expect((await list()).json).toHaveLength(1);
});

test('`sandbox --reset-only` deletes the categories of a running server, and their ids are not reused', async () => {
  const dir = tempDir();
  const create = ['categories', 'create', '--name', 'dog', '-p', 'sandbox', '-q'];
  await inProcess(create, { dir });
  const { url } = await serve(['--key', 'sandbox_alice_0001'], { dir });
  const data = join(dir, 'state', 'sandbox', 'categories');
  const out = `Deleted all categories and rate-limit windows in "${data}"\n`;
  const { port } = new URL(url);
  expect(await inProcess(['sandbox', '--reset-only', '--port', port], { dir })).toEqual({ code: 0, out, err: '' });
  expect(await (await get(url, 'sandbox_alice_0001')).text()).toBe('[]');
  expect((await inProcess(create, { dir })).out).toBe('Created category "dog" (id 2)\n');
  const empty = { code: 2, out: '', err: 'error: --data must be a path\n' };
  expect(await inProcess(['sandbox', '--reset-only', '--data', ''], { dir })).toEqual(empty);
  const json = await inProcess(['sandbox', '--reset-only', '--data', 'pets', '--json'], { dir });
  expect(json).toEqual({ code: 0, out: `${JSON.stringify({ data: join(dir, 'pets') })}\n`, err: '' });
});

test('`sandbox --help` lists every fault', async () => {
  const { out } = await inProcess(['sandbox', '--help']);
  for (const kind of FAULT_KINDS) expect(out).toMatch(new RegExp(`^ {2}(?:\\d+, )?${kind}\\b`, 'm'));
});
