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

const FREE = 'the free plan and a reset in 30 s';

test.each<[string, number, string, Partial<Quota>]>([
  ['a limit of 60 and a reset in half an hour', 600, UNKNOWN, { resetAt: START + HALF_HOUR }],
  ['a limit of 60 and a reset in half an hour', 60, '30m', { resetAt: START + HALF_HOUR }],
  ['a limit of 1,000 and a reset in 5 h', 1001, '1 day 5h at 1,000 requests per day', { ...daily, remaining: 0 }],
  [FREE, 60, '30s at 60 requests per minute', {}],
  ['a next request 1 s after the reset', 60, '32s at 60 requests per minute', { nextRequestAt: START + 31_050 }],
  ['a quota of 20', 20, NO_WAIT, { remaining: 20 }],
  [FREE, 0, NO_WAIT, {}],
  ['an unlimited plan', 5000, NO_WAIT, { limit: 1e9, remaining: 1e9 }],
  [FREE, 600, '10m at 60 requests per minute', {}],
  ['a window that has ended', 600, '9m at 60 requests per minute', { resetPassed: true, remaining: null }],
  ['a quota of 40 in a daily window', 100, '5h at 1,000 requests per day', { dailyLimit: daily }],
  [FREE, 1001, '1 day at 1,000 requests per day', {}],
  [FREE, 1000, '17m at 60 requests per minute', {}],
  [FREE, 2001, '2 days at 1,000 requests per day', {}],
  ['the pro plan and a reset in 30 s', 20_001, '2 days at 10,000 requests per day', { limit: 300 }],
  ['a custom limit', 2000, UNKNOWN, { limit: 61 }],
  ['a daily window without a limit', 600, '10m at 60 requests per minute', { dailyLimit: { ...daily, limit: null } }],
])('with %s, the estimated time of an import of %i rows is "%s"', (_what, rows, expected, given) => {
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
  // A reset that moves before it is reached reveals no window length, but a later reset does.
  expect([custom(8, 9500), custom(8, 39_500)]).toEqual(['8 of 30 · 38s left', '8 of 30 · 4m left']);
  const plan = lineOf(300, 60);
  expect([plan(2, 4000), plan(62, 8000)]).toEqual(['2 of 300 · 4m left', '62 of 300 · 20s left']);
});

test.each([
  ['including waits if no window is known', quota(unknown), '6m'],
  ['excluding waits in an open window', quota({ limit: 60_000, remaining: 60_000 }), '3m'],
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
