import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Limiter, PLANS, parseLimit } from '../../src/sandbox/limiter.ts';
import { tempDir } from '../support/temp-dir.ts';
import type { Sandbox, SandboxResponse } from './support.ts';
import { noonClock, OTHER_KEY, startTestSandbox } from './support.ts';

const seconds = (iso: string): string => String(Date.parse(iso) / 1000);

async function use(sandbox: Sandbox, count: number, key?: string): Promise<void> {
  for (let i = 0; i < count; i++) {
    const { status } = await sandbox.list(key === undefined ? {} : { key });
    expect(status).toBe(200);
  }
}

const limitOf = ({ headers }: SandboxResponse): unknown[] =>
  ['limit', 'remaining', 'reset'].map((name) => headers[`x-ratelimit-${name}`]);
const retryAfter = ({ headers }: SandboxResponse): unknown => headers['retry-after'];
const windows = (count: number, windowMs: number) => [{ count, windowMs }];

test('the plans of the sandbox have the documented limits', () => {
  const limits = Object.values(PLANS).map((plan) => plan.map(({ count, windowMs }) => `${count}/${windowMs / 1000}`));
  expect(limits.map(String)).toEqual(['60/60,1000/86400', '300/60,10000/86400', '1000/60,100000/86400', '']);
});

test('a request beyond the minute limit gets a 429 with the seconds until the window ends', async () => {
  const clock = noonClock();
  const sandbox = await startTestSandbox({ clock });
  await use(sandbox, 59);
  expect(limitOf(await sandbox.list())).toEqual(['60', '0', seconds('2026-11-21T12:01:00Z')]);
  const rejected = await sandbox.create({ name: 'dog' });
  expect(rejected.json).toEqual({ code: 'rate_limited', message: expect.any(String), status: 429 });
  expect([rejected.status, retryAfter(rejected)]).toEqual([429, '50']);
  expect(limitOf(rejected)).toEqual(['60', '0', seconds('2026-11-21T12:01:00Z')]);
  clock.at += 49_999;
  expect(retryAfter(await sandbox.list())).toBe('1');
  clock.at += 1;
  const again = await sandbox.list();
  expect([again.status, again.json]).toEqual([200, []]);
  expect(limitOf(again)).toEqual(['60', '59', seconds('2026-11-21T12:02:00Z')]);
});

test('a request beyond the daily limit gets a 429 with the seconds until the day ends, even in a new minute', async () => {
  const clock = noonClock();
  const sandbox = await startTestSandbox({ clock });
  for (let minute = 0; minute < 16; minute++) {
    await use(sandbox, 60);
    clock.at += 60_000;
  }
  // 960 of 1,000 requests are used, so less remains of the day than of the minute.
  expect(limitOf(await sandbox.list())).toEqual(['1000', '39', seconds('2026-11-22T00:00:00Z')]);
  await use(sandbox, 39);
  const rejected = await sandbox.list();
  const left = (Date.parse('2026-11-22T00:00:00Z') - clock.at) / 1000;
  expect([rejected.status, retryAfter(rejected)]).toEqual([429, String(left)]);
  expect(limitOf(rejected)).toEqual(['1000', '0', seconds('2026-11-22T00:00:00Z')]);
  clock.at = Date.parse('2026-11-21T23:59:59.500Z');
  expect(retryAfter(await sandbox.list())).toBe('1');
  clock.at = Date.parse('2026-11-22T00:00:00Z');
  expect(limitOf(await sandbox.list())).toEqual(['60', '59', seconds('2026-11-22T00:01:00Z')]);
});

test('rejected creates, unknown paths and 501 responses count against the limit; the OpenAPI document does not', async () => {
  const { call, create, list } = await startTestSandbox({ clock: noonClock() });
  const responses = [await create({}), await call('GET', '/v1/nothing'), await call('GET', '/v1/store/orders')];
  expect((await call('GET', '/v1/openapi.json')).status).toBe(200);
  const left = [...responses, await list()].map(({ headers }) => headers['x-ratelimit-remaining']);
  expect(left).toEqual(['59', '58', '57', '56']);
});

test('Retry-After can be disabled, or sent as a date that is never too early', async () => {
  const none = await startTestSandbox({ limits: windows(1, 60_000), retryAfter: 'none' });
  await use(none, 1);
  const rejected = await none.list();
  expect([rejected.status, retryAfter(rejected)]).toEqual([429, undefined]);
  const clock = noonClock();
  const sandbox = await startTestSandbox({ clock, limits: windows(1, 1500), retryAfter: 'date' });
  await use(sandbox, 1);
  const permitted = Math.floor(clock.at / 1500) * 1500 + 1500;
  const stated = String(retryAfter(await sandbox.list()));
  expect(stated).toMatch(/ GMT$/);
  expect(Date.parse(stated) - permitted).toBeGreaterThanOrEqual(0);
  expect(Date.parse(stated) - permitted).toBeLessThan(1000);
});

test('five requests within one wait ban the key for a minute, even beyond the window', async () => {
  const clock = noonClock(Date.parse('2026-11-21T12:00:50Z'));
  const sandbox = await startTestSandbox({ clock, limits: windows(2, 60_000) });
  await use(sandbox, 2);
  const codes: string[] = [];
  for (let i = 0; i < 6; i++) codes.push((await sandbox.list()).json.code);
  expect(codes).toEqual([...Array(5).fill('rate_limited'), 'key_banned']);
  clock.at = Date.parse('2026-11-21T12:01:10Z');
  const banned = await sandbox.list();
  expect([banned.status, banned.json.code, retryAfter(banned)]).toEqual([429, 'key_banned', '40']);
  expect(limitOf(banned)).toEqual(['2', '0', seconds('2026-11-21T12:01:50Z')]);
  await use(sandbox, 1, OTHER_KEY);
  clock.at = Date.parse('2026-11-21T12:01:50Z');
  await use(sandbox, 1);
});

test('a client that waits for Retry-After is never banned', async () => {
  const clock = noonClock();
  const sandbox = await startTestSandbox({ clock, limits: windows(1, 10_000) });
  for (let i = 0; i < 12; i++) {
    await use(sandbox, 1);
    const rejected = await sandbox.list();
    expect(rejected.json.code).toBe('rate_limited');
    clock.at += Number(retryAfter(rejected)) * 1000;
  }
});

test('after a ban the wait for the daily limit continues', async () => {
  const clock = noonClock();
  const sandbox = await startTestSandbox({ clock, limits: windows(1, 86_400_000) });
  await use(sandbox, 1);
  for (let i = 0; i < 6; i++) await sandbox.list();
  const banned = await sandbox.list();
  const left = (Date.parse('2026-11-22T00:00:00Z') - clock.at) / 1000;
  expect([banned.json.code, retryAfter(banned)]).toEqual(['key_banned', String(left)]);
  clock.at += 60_000;
  expect((await sandbox.list()).json.code).toBe('rate_limited');
});

test('a sandbox without limits rejects nothing and still sends the rate-limit headers', async () => {
  const sandbox = await startTestSandbox({ limits: [] });
  await use(sandbox, 70);
  expect(limitOf(await sandbox.list())).toEqual(['2147483647', '2147483647', expect.stringMatching(/^\d{10}$/)]);
});

test('sandboxes with the same data share their windows, including one that starts later', async () => {
  const dataFile = join(tempDir(), 'data');
  const clock = noonClock();
  const [a, b] = await Promise.all([startTestSandbox({ dataFile, clock }), startTestSandbox({ dataFile, clock })]);
  await use(a, 30);
  await use(b, 29);
  await a.close();
  const c = await startTestSandbox({ dataFile, clock });
  await use(c, 1);
  expect((await b.list()).status).toBe(429);
});

test('--reset ends windows and bans', async () => {
  const options = { dataFile: join(tempDir(), 'data'), clock: noonClock(), limits: windows(1, 60_000) };
  const sandbox = await startTestSandbox(options);
  const ban = async (): Promise<void> => {
    await use(sandbox, 1);
    for (let i = 0; i < 6; i++) expect((await sandbox.list()).status).toBe(429);
  };
  await ban();
  await startTestSandbox({ ...options, reset: true });
  await ban();
});

test('each window admits exactly its limit in random sequences of requests, and all processes agree', () => {
  const limits = [
    { count: 3, windowMs: 1_000 },
    { count: 10, windowMs: 7_000 },
  ];
  const step = fc.record({ who: fc.nat(1), key: fc.constantFrom('a', 'b'), later: fc.nat(1500) });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 150 }), (steps) => {
      const paths = join(tempDir(), 'data');
      const limiters = [new Limiter(paths, limits), new Limiter(paths, limits)] as const;
      const used = new Map<string, number>();
      let now = 1_000_000;
      for (const { who, key, later } of steps) {
        now += later;
        const slots = limits.map((limit) => `${key} ${limit.windowMs} ${Math.floor(now / limit.windowMs)}`);
        const free = slots.every((slot, i) => (used.get(slot) ?? 0) < (limits[i]?.count ?? 0));
        const { rejection, remaining } = (limiters[who] as Limiter).admit(key, now);
        if (!rejection) for (const slot of slots) used.set(slot, (used.get(slot) ?? 0) + 1);
        if (rejection !== 'key_banned') expect(rejection === undefined).toBe(free);
        const left = limits.map(({ count }, i) => count - (used.get(slots[i] ?? '') ?? 0));
        if (rejection !== 'key_banned') expect(remaining).toBe(Math.min(...left));
      }
      for (const [slot, count] of used) expect(count).toBeLessThanOrEqual(slot.includes(' 1000 ') ? 3 : 10);
      for (const limiter of limiters) limiter.close();
    }),
    { numRuns: 100 },
  );
});

test.each([
  ['60/6s', { count: 60, windowMs: 6_000 }],
  ['1000/1d', { count: 1000, windowMs: 86_400_000 }],
  ['5/10', { count: 5, windowMs: 10_000 }],
  ['3/500ms', { count: 3, windowMs: 500 }],
])('the limit "%s" is parsed as %j', (text, limit) => {
  expect(parseLimit(text, '--limit')).toEqual(limit);
});

test.each(['0/1m', '5/0s', '5', '5/', '-5/1m', '5/1y'])('the limit "%s" is a usage error', (text) => {
  expect(() => parseLimit(text, '--limit')).toThrow(`invalid value "${text}" for --limit`);
});
