// The estimated time of an import; the length of a window comes from two resets.
import { expect, test } from 'vitest';
import type { Estimate } from '../../src/import/estimate.ts';
import { estimate, formatEstimate } from '../../src/import/estimate.ts';
import type { WindowView } from '../../src/rate-limit/quota-view.ts';

const NOW = 1_800_000_000_000;
const MINUTE = 60_000;
const UNKNOWN = 'unknown until the rate limit resets';

interface Given {
  readonly window?: Partial<WindowView>;
  readonly windowMs?: number;
  readonly longWindow?: WindowView;
  readonly nextAt?: number;
}

/** Estimates an import; by default 0 of 60 requests are left, and the window ends in 30 s. */
function estimated(rows: number, { window, windowMs, longWindow, nextAt }: Given = {}): Estimate {
  const half = { limit: 60, remaining: 0, resetAt: NOW + 30_000, seenAt: NOW, over: false, ...window };
  return estimate(rows, { window: half, windowMs, longWindow, nextAt }, NOW);
}

const HALF_HOUR = 30 * MINUTE;
const daily = { limit: 1000, remaining: 40, resetAt: NOW + 5 * 60 * MINUTE, seenAt: NOW, over: false };

test.each<[string, string, number, Given]>([
  ['a window of unknown length', UNKNOWN, 600, {}],
  ['a window of unknown length that has reset', UNKNOWN, 61, { window: { over: true } }],
  ['a window of unknown length with half an hour left', UNKNOWN, 600, { window: { resetAt: NOW + HALF_HOUR } }],
  ['one reset', '30s at 60 requests per window', 60, {}],
  ['one reset and a later next request', '32s at 60 requests per window', 60, { nextAt: NOW + 31_050 }],
  ['enough quota', 'no wait, the quota is sufficient', 20, { window: { remaining: 20 } }],
  ['no rows', 'no wait, the quota is sufficient', 0, {}],
  ['no limit', 'no wait, the quota is sufficient', 5000, { window: { limit: 1e9, remaining: 1e9 } }],
  ['a window of 30 min and 20 ms', '31m at 60 requests per 30m', 120, { windowMs: HALF_HOUR + 20 }],
  ['a window of a minute', '10m at 60 requests per minute', 600, { windowMs: MINUTE }],
  ['a minute that has ended', '9m at 60 requests per minute', 600, { windowMs: MINUTE, window: { over: true } }],
  ['a reported daily window', '5h at 1,000 requests per day', 100, { windowMs: MINUTE, longWindow: daily }],
  ['one more row than the daily limit of the plan', '1 day at 1,000 requests per day', 1001, { windowMs: MINUTE }],
  ['as many rows as the daily limit of the plan', '17m at 60 requests per minute', 1000, { windowMs: MINUTE }],
  ['a custom limit', '33m at 61 requests per minute', 2000, { windowMs: MINUTE, window: { limit: 61 } }],
  ["a plan's limit for another window", '4m at 60 requests per 6s', 2000, { windowMs: 6000 }],
  ['a larger plan', '2 days at 10,000 requests per day', 20_001, { windowMs: MINUTE, window: { limit: 300 } }],
  ['more rows than the daily limit of the plan', '2 days at 1,000 requests per day', 2001, { windowMs: MINUTE }],
])('the estimate with %s is "%s"', (_what, expected, rows, given) => {
  const result = estimated(rows, given);
  expect([formatEstimate(result), result.isDaily]).toEqual([expected, / per day$/.test(expected)]);
});

test('the estimate is unknown without a known limit', () => {
  const quota = { window: undefined, windowMs: undefined, longWindow: undefined, nextAt: undefined };
  expect(formatEstimate(estimate(5, quota, NOW))).toBe('unknown');
});
