// The estimated time of an import, from two resets and without guesses.
import { expect, test } from 'vitest';
import type { Estimate } from '../../src/import/estimate.ts';
import { dailyNotice, estimate, formatEstimate } from '../../src/import/estimate.ts';
import type { WindowView } from '../../src/rate-limit/quota-view.ts';

const NOW = 1_800_000_000_000;
const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

interface Given {
  readonly window?: Partial<WindowView>;
  readonly windowMs?: number;
  readonly longWindow?: WindowView;
  readonly nextAt?: number;
}

/** By default nothing is left of 60, for half a minute. */
function estimated(rows: number, { window, windowMs, longWindow, nextAt }: Given = {}): Estimate {
  const half = { limit: 60, remaining: 0, resetAt: NOW + 30_000, seenAt: NOW, over: false, ...window };
  return estimate(rows, { window: half, windowMs, longWindow, nextAt }, NOW);
}

test.each<[string, number, Given, string]>([
  ['an unknown length', 600, {}, 'unknown until the rate limit resets'],
  ['an unknown length after the reset', 61, { window: { over: true } }, 'unknown until the rate limit resets'],
  [
    'half an hour left of an unknown length',
    600,
    { window: { resetAt: NOW + 30 * MINUTE } },
    'unknown until the rate limit resets',
  ],
  ['one reset to wait for', 60, {}, '30s (60 requests per window)'],
  ['one reset whose next request goes later', 60, { nextAt: NOW + 31_050 }, '32s (60 requests per window)'],
  ['nothing to wait for', 20, { window: { remaining: 20 } }, 'no wait for the rate limit'],
  ['no rows', 0, {}, 'no wait for the rate limit'],
  ['no limit', 5000, { window: { limit: 1e9, remaining: 1e9 } }, 'no wait for the rate limit'],
  ['half an hour measured to the millisecond', 120, { windowMs: 30 * MINUTE + 20 }, '31m (60 requests per 30m)'],
  ['a minute', 600, { windowMs: MINUTE }, '10m (60 requests per minute)'],
  ['a minute that has passed', 600, { windowMs: MINUTE, window: { over: true } }, '9m (60 requests per minute)'],
  [
    'half an hour',
    600,
    { windowMs: 30 * MINUTE, window: { resetAt: NOW + 20 * MINUTE } },
    '4h 50m (60 requests per 30m)',
  ],
  [
    'a day that the service reports',
    100,
    {
      windowMs: MINUTE,
      longWindow: { limit: 1000, remaining: 40, resetAt: NOW + 5 * 60 * MINUTE, seenAt: NOW, over: false },
    },
    '5h (1,000 requests per day)',
  ],
  ['more than the plan has for a day', 2001, { windowMs: MINUTE }, '2 days (1,000 requests per day)'],
])('the estimate for %s uses only known facts', (_what, rows, given, expected) => {
  expect(formatEstimate(estimated(rows, given))).toBe(expected);
});

test('the estimate does not depend on when within a window it is made', () => {
  const at = (toReset: number) => estimated(600, { windowMs: 30 * MINUTE, window: { resetAt: NOW + toReset } }).ms ?? 0;
  expect(at(4 * MINUTE) - at(0)).toBe(4 * MINUTE);
  expect(at(0)).toBe(9 * 30 * MINUTE);
});

test('the estimate is unknown without a known limit', () => {
  const quota = { window: undefined, windowMs: undefined, longWindow: undefined, nextAt: undefined };
  expect(formatEstimate(estimate(5, quota, NOW))).toBe('unknown');
});

test.each<[string, number, Given, string | undefined]>([
  ['a limit of a plan for a window of unknown length', 2000, {}, undefined],
  ['a plan of the service', 2000, { windowMs: MINUTE }, '2,000 rows exceed the daily limit of 1,000 requests'],
  ['fewer rows than the daily limit', 1000, {}, undefined],
  ['a custom limit', 2000, { window: { limit: 61 } }, undefined],
  ['a limit of a plan for another window', 2000, { windowMs: 6000 }, undefined],
  [
    'a plan of 300 a minute',
    20_000,
    { windowMs: MINUTE, window: { limit: 300 } },
    '20,000 rows exceed the daily limit of 10,000 requests',
  ],
])('the daily limit is named if it is too low for the rows with %s', (_what, rows, given, expected) => {
  expect(dailyNotice(rows, estimated(rows, given))).toBe(expected);
});

test('the daily limit of a plan counts from now, since its use so far is unknown', () => {
  expect(estimated(1001, { windowMs: MINUTE })).toEqual({ ms: DAY, limit: 1000, windowMs: DAY, isDaily: true });
});
