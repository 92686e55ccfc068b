// The estimated time of an import, and its progress line.
import { expect, test } from 'vitest';
import {
  DAY_MS,
  estimateDuration,
  formatEstimate,
  progressLineFormatter,
} from '../../../../src/cli/commands/categories/import-progress.ts';
import type { Quota } from '../../../../src/rate-limit/quota.ts';
import { FakeClock } from '../../../support/fake-clock.ts';

const START = 1_800_000_000_000;
const MINUTE = 60_000;
const HALF_HOUR = 30 * MINUTE;
const NO_WAIT = 'none';
const UNKNOWN = 'unknown until the rate limit resets';

/** By default, nothing is left of 60 requests, and the window of a minute ends in 30 s. */
function quota(given: Partial<Quota>): Quota {
  const known = { limit: 60, remaining: 0, resetAt: START + 30_000, updatedAt: START, resetPassed: false };
  const none = { dailyLimit: null, blocked: null, nextRequestAt: null };
  return { ...known, ...none, inFlight: 0, shared: true, stateServer: null, ...given };
}

const daily = { limit: 1000, remaining: 40, resetAt: START + 5 * 60 * MINUTE, updatedAt: START, resetPassed: false };
const unknown = { limit: null, remaining: null, resetAt: null, resetPassed: null };

test.each<[string, string, number, Partial<Quota>]>([
  ['more rows than the limit and a reset in half an hour', UNKNOWN, 600, { resetAt: START + HALF_HOUR }],
  ['as many rows as the limit and a reset in half an hour', '30m', 60, { resetAt: START + HALF_HOUR }],
  ['a daily limit', '1 day 5h at 1,000 requests per day', 1001, { limit: 1000, resetAt: START + 10 * HALF_HOUR }],
  ['as many rows as the limit', '30s at 60 requests per minute', 60, {}],
  ['a next request 1 s after the reset', '32s at 60 requests per minute', 60, { nextRequestAt: START + 31_050 }],
  ['enough quota', NO_WAIT, 20, { remaining: 20 }],
  ['no rows', NO_WAIT, 0, {}],
  ['an unlimited plan', NO_WAIT, 5000, { limit: 1e9, remaining: 1e9 }],
  ['a window of a minute', '10m at 60 requests per minute', 600, {}],
  ['a window of a minute that has ended', '9m at 60 requests per minute', 600, { resetPassed: true, remaining: null }],
  ['a reported daily window', '5h at 1,000 requests per day', 100, { dailyLimit: daily }],
  ['one more row than the daily limit of the plan', '1 day at 1,000 requests per day', 1001, {}],
  ['as many rows as the daily limit of the plan', '17m at 60 requests per minute', 1000, {}],
  ['more rows than the daily limit of the plan', '2 days at 1,000 requests per day', 2001, {}],
  ['a larger plan', '2 days at 10,000 requests per day', 20_001, { limit: 300 }],
  ['a custom limit', UNKNOWN, 2000, { limit: 61 }],
  ['a daily window without a limit', '10m at 60 requests per minute', 600, { dailyLimit: { ...daily, limit: null } }],
])('the estimated time of an import with %s is "%s"', (_what, expected, rows, given) => {
  const result = estimateDuration(rows, quota(given), START);
  expect([formatEstimate(result), result.windowMs === DAY_MS]).toEqual([expected, / per day$/.test(expected)]);
});

test('the estimated time of an import is unknown without a known limit', () => {
  expect(formatEstimate(estimateDuration(5, quota(unknown), START))).toBe('unknown');
});

interface Shown extends Partial<Quota> {
  readonly total?: number;
  readonly unknown?: number;
  readonly isWaiting?: true;
}

const countsOf = (created: number, total: number, unknown = 0) => ({
  ...{ created, skipped: 0, failed: 0, unknown },
  pending: total - created - unknown,
});

/** The room for the line, in cells: five fewer than a terminal of 80 or 40 columns has. */
const [ROOM_80, ROOM_40] = [75, 35];
const minute = { remaining: 2, resetAt: START + MINUTE };
const toLookUp = { ...minute, unknown: 3 };
const ended = { resetAt: START + MINUTE };
const largest = { ...ended, total: 299_999, limit: 1000 };
const soon = { ...ended, nextRequestAt: START + 61_050, isWaiting: true } as const;

test.each<[string, string, number, Shown, number]>([
  ['fits 37 cells', '118 of 900 · 13m left · quota 2 of 60', 118, minute, 37],
  ['omits the quota in 36 cells', '118 of 900 · 13m left', 118, minute, 36],
  ['keeps the time left at 40 columns', '199,999 of 299,999 · 1h 40m left', 199_999, largest, ROOM_40],
  ['omits the quota during a wait', '118 of 900 · 14m left', 118, { ...ended, isWaiting: true }, ROOM_80],
  ['counts unknown rows', '890 of 900 · 1m left · quota 2 of 60 · 3 unconfirmed', 890, toLookUp, ROOM_80],
  ['shows no time after the last row', '900 of 900 · quota 2 of 60', 900, minute, ROOM_80],
  [
    'shows no time without the length of the window',
    '118 of 900 · quota 0 of 60',
    118,
    { resetAt: START + HALF_HOUR },
    ROOM_80,
  ],
  ['shows the time to the only reset that is needed', '840 of 900 · 30s left', 840, {}, ROOM_40],
  ['shows the wait for the next request in seconds', '895 of 900 · 1m 2s left', 895, soon, ROOM_80],
])('the progress line of an import %s: %s', (_what, expected, done, shown, room) => {
  const { total = 900, unknown = 0, isWaiting = false, ...given } = shown;
  const show = progressLineFormatter(new FakeClock(START));
  const counts = countsOf(done, total, unknown);
  expect(show({ counts, quota: quota(given), isWaiting, room })).toBe(expected);
});

test('the progress line shows the time left after two resets, or at once if the limit is that of a plan', () => {
  const lineOf = (total: number, limit: number) => {
    const show = progressLineFormatter(new FakeClock(START));
    return (done: number, resetAt: number): string => {
      const view = quota({ limit, remaining: 0, resetAt: START + resetAt, updatedAt: START + resetAt - 3000 });
      return show({ counts: countsOf(done, total), quota: view, isWaiting: true, room: ROOM_80 });
    };
  };
  const custom = lineOf(30, 3);
  expect([custom(2, 4000), custom(5, 8000)]).toEqual(['2 of 30', '5 of 30 · 40s left']);
  // A reset that moves before it is reached shows no length, but a later one does.
  expect([custom(8, 9500), custom(8, 39_500)]).toEqual(['8 of 30 · 38s left', '8 of 30 · 4m left']);
  const plan = lineOf(300, 60);
  expect([plan(2, 4000), plan(62, 8000)]).toEqual(['2 of 300 · 4m left', '62 of 300 · 20s left']);
});

test.each([
  ['with waits if no window is known', quota(unknown), '6m'],
  ['without waits in an open window', quota({ limit: 60_000, remaining: 60_000 }), '3m'],
])('the progress line derives the time left from the pace %s', async (_what, view, expected) => {
  const clock = new FakeClock(START);
  const show = progressLineFormatter(clock);
  const line = (created: number, isWaiting: boolean) =>
    show({ counts: countsOf(created, 2000), quota: view, isWaiting, room: ROOM_80 });
  // Time before the first line, such as a prompt, does not count toward the pace.
  await clock.sleep(20_000);
  expect(line(0, false)).not.toContain('left ·');
  await clock.sleep(20_000);
  expect(line(200, false)).toContain('200 of 2,000 · 3m left');
  await clock.sleep(20_000);
  expect(line(200, true)).toContain(`200 of 2,000 · ${expected} left`);
});
