// Parsing of rate-limit headers: waits, counts and resets, and values that are ignored.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseRateLimitHeaders } from '../../src/http/rate-limit-headers.ts';
import type { RateLimitReading } from '../../src/rate-limit/key-state.ts';

const NOW = Date.parse('2026-11-21T12:00:00.250Z');
const NOON = 'Sat, 21 Nov 2026 12:00:00 GMT';
const at = (time: string): string => `Sat, 21 Nov 2026 ${time} GMT`;

/** The longest wait in seconds; longer waits are capped at it. */
const LONGEST = 32 * 86_400;
/** Converts seconds from noon to a Unix timestamp. */
const T = (fromNoon: number): string => String(1_795_262_400 + fromNoon);

interface Given {
  readonly ra?: string | undefined;
  readonly limit?: string;
  readonly rem?: string;
  readonly reset?: string;
  readonly date?: string | undefined;
  readonly age?: string;
}

function read(status: number, { ra, limit, rem, reset, date, age }: Given): RateLimitReading {
  const quota = { 'x-ratelimit-limit': limit, 'x-ratelimit-remaining': rem, 'x-ratelimit-reset': reset };
  const head = { status, headers: { ...quota, 'retry-after': ra, date, age }, receivedAt: NOW, sentAt: NOW - 20 };
  return parseRateLimitHeaders(head, status === 429);
}

const seconds = (ms: number | undefined): number | undefined => (ms === undefined ? undefined : ms / 1000);

const IGNORED = [
  ...['5, 9', '-5', 'soon', '0x10', '1e3', '1e400', 'Infinity', '1m30s', '500ms', '10, 45'],
  ...['2026-11-21T12:00:10Z', 'Sat, 31 Feb 2026 12:00:00 GMT', 'Invalid Date'],
  ...['Saturday, 21-Nov-26 12:00:45 GMT', 'Sat Nov 21 12:00:45 2026', 'Sun, 21 Nov 2026 12:00:45 GMT'],
];

// Waits are seconds after the response, before backoff and jitter.
test.each<[ra: string, wait: number]>([
  ['30', 30],
  ['0', 0],
  ['1.123456789', 1.124],
  ['30000', 30_000],
  [at('12:00:20'), 19.75],
  ['999999999', LONGEST],
  ['9'.repeat(400), LONGEST],
  ['99999999999', LONGEST],
  ['Wed, 21 Nov 2125 12:00:00 GMT', LONGEST],
])('the Retry-After %j of a 429 without a Date is parsed as a wait of %s s', (ra, wait) => {
  const { waitMs, waitFrom } = read(429, { ra });
  expect([seconds(waitMs), waitFrom]).toEqual([wait, 'retry_after']);
});

test.each([
  // The local clock is an hour fast, then ten minutes slow.
  [at('11:00:20'), at('11:00:00'), 20],
  [at('12:10:20'), at('12:10:00'), 20],
  [at('11:59:00'), NOON, 0],
  [T(15), NOON, 15],
  [`${T(15)}000`, NOON, 15],
  // A timestamp of 5 s ago.
  [T(-5), NOON, 0],
])('the Retry-After %j of a 429 with the Date "%s" is parsed as a wait of %s s', (ra, date, wait) => {
  const { waitMs, waitFrom } = read(429, { ra, date });
  expect([seconds(waitMs), waitFrom]).toEqual([wait, 'retry_after']);
});

// The first is a timestamp of 6 s ago.
test.each([T(-6), ...IGNORED])(`the Retry-After %j of a 429 with the Date "${NOON}" is ignored`, (ra) => {
  expect(read(429, { ra, date: NOON })).toMatchObject({ waitMs: undefined, waitFrom: 'backoff' });
});

const minute = { limit: '60', date: NOON };
const spent = { ...minute, rem: '0' };
const day = { limit: '1000', rem: '0', reset: T(32_400), date: NOON };
const NONE = [undefined, 'backoff'] as const;
const RESET_ONLY = [...NONE, undefined, undefined] as const;
type Expected = readonly [wait: number | undefined, from: string, ...counts: (number | undefined)[]];

// Expected: wait, its source, limit, remaining, and seconds from the response to the reset.
test.each<[string, number, Given, Expected]>([
  [
    'a Retry-After of 30 s in milliseconds',
    429,
    { ...spent, ra: '30000', reset: T(28) },
    [30, 'retry_after', 60, 0, 28],
  ],
  ['a Retry-After of 1 s in milliseconds', 429, { ...spent, ra: '1000', reset: T(1) }, [1, 'retry_after', 60, 0, 1]],
  ['a Retry-After of 999 s', 429, { ...spent, ra: '999', reset: T(1) }, [999, 'retry_after', 60, 0, 1]],
  ['a hexadecimal Retry-After', 429, { ...spent, ra: '0x7530', reset: T(60) }, [60, 'reset', 60, 0, 60]],
  ['an empty Retry-After', 429, { ra: '' }, NONE],
  ['a Retry-After of 3600 s', 429, { ...spent, ra: '3600', reset: T(6) }, [3600, 'retry_after', 60, 0, 6]],
  ['a reset but no Retry-After', 429, { ...spent, reset: T(42) }, [42, 'reset', 60, 0, 42]],
  ['a reset later than Retry-After', 429, { ...spent, ra: '1', reset: T(42) }, [42, 'reset', 60, 0, 42]],
  ['a reset earlier than Retry-After', 429, { ...spent, ra: '60', reset: T(3) }, [60, 'retry_after', 60, 0, 3]],
  [
    'quota left and a Retry-After',
    429,
    { ...minute, ra: '5', rem: '17', reset: T(40) },
    [5, 'retry_after', 60, 17, 40],
  ],
  ['an exhausted daily limit but no Retry-After', 429, day, [32_400, 'reset', 1000, 0, 32_400]],
  ['a daily limit and a Retry-After', 429, { ...day, ra: '20' }, [20, 'retry_after', 1000, 0, 32_400]],
  ['a Retry-After and a reset in 121 s', 429, { ...spent, ra: '5', reset: T(121) }, [5, 'retry_after', 60, 0, 121]],
  ['a Retry-After and a reset in 120 s', 429, { ...spent, ra: '5', reset: T(120) }, [120, 'reset', 60, 0, 120]],
  ['quota left and a distant reset', 429, { ...minute, rem: '5', reset: T(32_400) }, [...NONE, 60, 5, 32_400]],
  ['a reset but no counts', 429, { date: NOON, ra: '1', reset: T(42) }, [42, 'reset', undefined, undefined, 42]],
  ['no rate-limit headers', 429, {}, NONE],
  ['a Retry-After', 503, { ra: '4' }, [4, 'retry_after']],
  ['a reset', 503, { ...spent, reset: T(20) }, [...NONE, 60, 0, 20]],
  ['a Retry-After', 200, { ...minute, ra: '10', rem: '5', reset: T(20) }, [...NONE, 60, 5, 20]],
  ['a limit, quota and reset', 200, { ...minute, rem: '41', reset: T(30) }, [...NONE, 60, 41, 30]],
  ['a quota above the limit', 200, { ...minute, rem: '99', reset: T(30) }, [...NONE, undefined, undefined, 30]],
  ['negative counts', 200, { limit: '-60', rem: '-1', reset: T(30), date: NOON }, [...RESET_ONLY, 30]],
  ['a limit of 0', 200, { ...minute, limit: '0', rem: '0', reset: T(30) }, [...NONE, undefined, 0, 30]],
  ['a limit of 15 digits and a list of quotas', 200, { limit: '9'.repeat(15), rem: '7, 9' }, [...NONE, 1e15 - 1]],
  ['a fractional limit and a sign in the quota', 200, { limit: '60.5', rem: '+7' }, NONE],
  ['a reset in milliseconds', 200, { ...minute, rem: '10', reset: '1795262430000' }, [...NONE, 60, 10]],
  ['a reset in seconds from now', 200, { ...minute, rem: '10', reset: '30' }, [...NONE, 60, 10]],
  ['a reset as an HTTP date', 200, { date: NOON, reset: at('12:00:30') }, NONE],
  ['a reset 5 s ago', 200, { ...minute, rem: '60', reset: T(-5) }, [...NONE, 60, 60, 0]],
  ['a reset 6 s ago', 200, { ...minute, rem: '10', reset: T(-6) }, [...NONE, 60, 10]],
  ['a reset 32 days ahead', 200, { ...minute, rem: '1', reset: T(LONGEST) }, [...NONE, 60, 1, LONGEST]],
  ['a reset more than 32 days ahead', 200, { ...minute, rem: '1', reset: '1800000000' }, [...NONE, 60, 1]],
  ['a fractional reset', 200, { date: NOON, reset: `${T(30)}.5` }, [...RESET_ONLY, 30.5]],
  ['a Date an hour behind the local clock', 200, { date: at('11:00:00'), reset: T(-3570) }, [...RESET_ONLY, 30]],
  ['an Age of 500', 200, { reset: T(30), date: at('11:51:40'), age: '500' }, [...RESET_ONLY, 29.75]],
  ['an Age of 0', 200, { reset: T(30), date: at('11:51:40'), age: '0' }, [...RESET_ONLY, 530]],
])('with %s, a %i is parsed as docs/rate-limits.md describes', (_title, status, given, expected) => {
  const { waitMs, waitFrom, limit, remaining, resetInMs } = read(status, given);
  const [wait, from, expectedLimit, expectedRemaining, expectedReset] = expected;
  expect([seconds(waitMs), waitFrom]).toEqual([wait, from]);
  expect([limit, remaining, seconds(resetInMs)]).toEqual([expectedLimit, expectedRemaining, expectedReset]);
});

test('a rate-limit reading contains the status and whether the response is a refusal, but nothing from the draft header RateLimit', () => {
  const head = { status: 503, headers: { ratelimit: '"default";r=0;t=30' }, receivedAt: NOW, sentAt: NOW };
  const nothing = {
    limit: undefined,
    remaining: undefined,
    resetInMs: undefined,
    waitMs: undefined,
    waitFrom: 'backoff',
  };
  expect(parseRateLimitHeaders(head, true)).toEqual({ status: 503, refused: true, ...nothing });
  expect(parseRateLimitHeaders(head, false).refused).toBe(false);
});

test('no header text yields a wait, limit or quota that is negative, infinite or not a number', () => {
  const text = fc.oneof(
    fc.string(),
    fc.integer().map(String),
    fc.double().map(String),
    fc.stringMatching(/^\d{1,30}$/),
    fc.date({ noInvalidDate: true }).map((d) => d.toUTCString()),
  );
  fc.assert(
    fc.property(text, text, text, text, (ra, rem, reset, date) => {
      const info = read(429, { ra, limit: reset, rem, reset, date });
      for (const value of [info.waitMs, info.limit, info.remaining]) {
        expect(value === undefined || (Number.isFinite(value) && value >= 0)).toBe(true);
      }
      expect(info.waitMs ?? 0).toBeLessThanOrEqual(1000 * LONGEST + 86_400_000 * 12_000);
    }),
    { numRuns: 2000 },
  );
});
