// `petstore quota`: the cached quota, --refresh and --clear; and the quota line of other commands.
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { formatQuotaLine } from '../../../src/cli/command.ts';
import { quotaOf } from '../../../src/rate-limit/quota.ts';
import type { RequestRecord } from '../../../src/sandbox/server.ts';
import { KEY, startTestSandbox } from '../../sandbox/support.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { play, START } from '../../support/records.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { inProcess, serving } from '../../support/world.ts';

async function service(limit = '60/1m') {
  const clock = new FakeClock();
  const statuses: unknown[] = [];
  const onRequest = ({ status }: RequestRecord): void => void statuses.push(status);
  const { baseUrl } = await startTestSandbox({ clock, limits: [limit], onRequest });
  const dir = tempDir();
  const env = { PETSTORE_API_KEY: KEY, PETSTORE_BASE_URL: baseUrl };
  const run = (line: string) => inProcess(line.split(' '), { env, dir, clock });
  const json = async (line = 'quota') => JSON.parse((await run(`${line} --json`)).out);
  return { statuses, run, json, clock };
}

test('`quota` before the first response prints "unknown" and sends nothing', async () => {
  const { statuses, run, json } = await service();
  const out = expect.stringContaining('remaining     unknown (run with --refresh to update)');
  expect(await run('quota')).toEqual({ code: 0, out, err: '' });
  const unknown = { limit: null, remaining: null, resetAt: null, updatedAt: null, blocked: null };
  expect(await json()).toMatchObject(unknown);
  expect(statuses).toEqual([]);
});

test('after `quota --refresh`, `quota` shows the remaining quota, and after the reset the limit and the time since the reset', async () => {
  const { statuses, run, json, clock } = await service();
  const fresh = await run('quota --refresh');
  expect(fresh).toMatchObject({ code: 0, err: '' });
  expect(fresh.out).toMatch(/remaining {5}59 of 60\nreset {9}in (?:\d+s|1m)\nupdated {7}[01]s ago\n/);
  const resetAt = '2026-11-21T12:01:00.000Z';
  const open = { limit: 60, remaining: 59, resetAt, resetPassed: false, shared: true, dailyLimit: null };
  expect(await json()).toMatchObject(open);
  expect(statuses).toEqual([200]);
  clock.at += 180_000;
  expect((await run('quota')).out).toMatch(
    /remaining {5}at most 60 \(run with --refresh to update\)\nreset {9}passed 2m \d+s ago\n/,
  );
  expect(await json()).toMatchObject({ limit: 60, remaining: null, resetPassed: true });
});

test('`quota` shows a limit above 1,000,000 as unlimited, even after the reset', async () => {
  const { run, clock } = await service('10000000/1m');
  expect((await run('categories list')).err).toContain('quota: unlimited\n');
  expect((await run('quota')).out).toContain('remaining     unlimited\n');
  clock.at += 180_000;
  expect((await run('quota')).out).toContain('remaining     unlimited (run with --refresh to update)\n');
});

test('`quota` shows the block after a 429, and `quota --clear` removes the block and the cached quota', async () => {
  const { statuses, run, json } = await service('1/1d');
  await run('categories list');
  const limited = await run('categories list --json --max-wait 5s');
  expect(limited).toMatchObject({ code: 5, err: expect.stringContaining('"kind":"rate_limited"') });
  expect((await run('quota --clear')).err).toContain('Cleared the cached quota');
  expect((await run('categories list --json --max-wait 5s')).code).toBe(5);
  expect((await run('quota')).out).toMatch(/blocked {7}by Retry-After, ends in \d+h.* \(at .*\d\d:\d\d\)\n/);
  const { blocked, nextRequestAt } = await json();
  expect(blocked).toMatchObject({ reason: 'retry_after', consecutive429s: 1, until: nextRequestAt });
  expect(blocked.since).toMatch(/^\d{4}-\d\d-\d\dT.*Z$/);
  expect(statuses).toEqual([200, 429]);
  expect(await json('quota --clear')).toMatchObject({ blocked: null, limit: null });
});

test('`quota --clear --refresh` shows the remaining quota of the response', async () => {
  const { json } = await service();
  await json('categories list');
  expect(await json('quota --clear --refresh')).toMatchObject({ limit: 60, remaining: 58 });
});

const URL_AND_KEY = { PETSTORE_API_KEY: 'k_0123456789', PETSTORE_BASE_URL: 'https://b.example/v1' };

test.each([
  ['nothing', 'the active profile', {}, 'farm', 'farm'],
  ['only a key', 'the active profile', { PETSTORE_API_KEY: 'k_0123456789' }, 'farm', 'farm'],
  ['a key and a base URL', 'no profile', URL_AND_KEY, null, 'none (base URL from the environment)'],
])('`quota` with %s in the environment names %s', async (_what, _name, env, profile, shown) => {
  const dir = tempDir();
  const login = 'auth login farm --no-verify --url https://a.example/v1'.split(' ');
  expect((await inProcess(login, { dir, stdin: 'k_0123456789' })).code).toBe(0);
  expect(JSON.parse((await inProcess(['quota', '--json'], { dir, env })).out)).toMatchObject({ profile });
  expect((await inProcess(['quota'], { dir, env })).out).toContain(`profile       ${shown}\n`);
});

test('`quota --refresh` reports a response without rate-limit headers', async () => {
  const { env } = await serving(() => ({ body: [] }));
  const { out } = await inProcess(['quota', '--refresh'], { env });
  expect(out).toContain('remaining     unknown (the service sent no rate-limit headers)\n');
});

const HOUR = 3_600_000;

/** The headers of a window that ends `inMs` milliseconds after START. */
const windowHeaders = (limit: number, left: number, inMs: number) => ({
  date: new Date(START).toUTCString(),
  'x-ratelimit-limit': `${limit}`,
  'x-ratelimit-remaining': `${left}`,
  'x-ratelimit-reset': `${(START + inMs) / 1000}`,
});

test.each([
  ['the last request of a window', [{ body: [], headers: windowHeaders(60, 0, 30_000) }], /^next request {2}in \d+s/m],
  [
    'a 429 with a reset time',
    [{ status: 429, headers: windowHeaders(60, 0, 30_000) }],
    /^blocked {7}by the reset time, ends in \d+s/m,
  ],
  [
    'the end of a window with an unknown limit',
    [{ body: [], headers: { ...windowHeaders(60, 59, 0), 'x-ratelimit-limit': '' } }],
    /^remaining {5}unknown \(run with --refresh to update\)\nreset {9}passed \ds ago$/m,
  ],
  ['a 429 without headers', [{ status: 429 }], /^blocked {7}by exponential backoff, ends in \ds/m],
  [
    'reports of a daily and a minute window',
    [
      { body: [], headers: windowHeaders(1000, 500, 9 * HOUR) },
      { body: [], headers: windowHeaders(60, 59, 30_000) },
    ],
    /^remaining {5}59 of 60\nreset {9}in 30s\ndaily limit {3}500 of 1,000\nreset {9}in 9h.*\nupdated/m,
  ],
])('`quota` shows the rate-limit state after %s', async (_what, responses, shown) => {
  const queue = [...responses];
  const { env } = await serving(() => queue.shift() ?? 'reset');
  const options = { env, dir: tempDir(), clock: new FakeClock() };
  for (const _ of responses) await inProcess(['categories', 'list', '--max-retries=0', '--max-wait=0'], options);
  expect((await inProcess(['quota'], options)).out).toMatch(shown);
});

test('if the state directory is not writable, `quota` shows that the rate limit is not shared', async () => {
  const env = { PETSTORE_STATE_DIR: join(import.meta.filename, 'x'), ...URL_AND_KEY };
  const { out } = await inProcess(['quota'], { env });
  expect(out).toMatch(/\nshared {8}no \(state directory is unavailable\)\n$/);
});

/** The quota line `ms` milliseconds after START. */
function lineAt(ms: number, state = play('0 take a, 0 ok a'), profile?: string): string | undefined {
  const quota = { ...quotaOf(state, START + ms), shared: true, stateServer: null };
  return formatQuotaLine(quota, START + ms, profile);
}

test('the quota line shows the limit, remaining requests and reset, and is omitted after a 429', () => {
  expect(lineAt(17_000)).toBe('quota: 59 of 60 left, resets in 43s');
  expect(lineAt(1000, play('0 take a, 0 429 a'), 'farm')).toBeUndefined();
});

test('after a reset, the quota line shows the daily window, if one is known', () => {
  expect(lineAt(60_000)).toBeUndefined();
  const daily = play(`0 take a, 0 ok a limit=1000 left=500 reset=${9 * HOUR}`).window;
  const state = { ...play('0 take a, 0 ok a'), daily };
  expect([lineAt(61_000, state), lineAt(10 * HOUR, state)]).toEqual([
    'quota: 500 of 1,000 left, resets in 8h 59m',
    undefined,
  ]);
});
