// What rate-limit headers say: vectors seen in the wild or in standards, and some of our own.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseRateLimitHeaders } from '../../src/http/rate-limit-headers.ts';
import type { HttpHeaders } from '../../src/http/types.ts';

const NOW = Date.parse('2026-11-21T12:00:00.250Z');
const NOON = 'Sat, 21 Nov 2026 12:00:00 GMT';
const at = (time: string): string => `Sat, 21 Nov 2026 ${time} GMT`;

type Given = {
  ra?: string | string[];
  limit?: string;
  rem?: string;
  reset?: string;
  date?: string;
  age?: string;
};
type Expected = [
  wait: number | undefined,
  from: string,
  limit?: number | undefined,
  remaining?: number | undefined,
  resetIn?: number | undefined,
];

function headersOf(given: Given): HttpHeaders {
  return {
    'retry-after': given.ra,
    'x-ratelimit-limit': given.limit,
    'x-ratelimit-remaining': given.rem,
    'x-ratelimit-reset': given.reset,
    date: given.date,
    age: given.age,
  };
}

function read(status: number, given: Given) {
  return parseRateLimitHeaders({ status, headers: headersOf(given), receivedAt: NOW, sentAt: NOW - 20 });
}

const seconds = (ms: number | undefined): number | undefined => (ms === undefined ? undefined : ms / 1000);
const minute = { limit: '60', date: NOON };

// Waits and reset-in are seconds from the receipt, before floor and jitter.
const VECTORS: readonly [number, string, number, Given, Expected][] = [
  [1, 'seconds', 429, { ra: '30' }, [30, 'retry-after']],
  [2, 'zero', 429, { ra: '0' }, [0, 'retry-after']],
  [3, 'decimal seconds', 429, { ra: '1.5' }, [1.5, 'retry-after']],
  [4, 'padded seconds', 429, { ra: '  7 ' }, [7, 'retry-after']],
  [5, 'negative seconds', 429, { ra: '-5' }, [undefined, 'backoff']],
  [6, 'a word', 429, { ra: 'soon' }, [undefined, 'backoff']],
  [7, 'nothing at all', 429, { ra: '' }, [undefined, 'backoff']],
  [8, 'a hexadecimal number', 429, { ra: '0x10' }, [undefined, 'backoff']],
  [9, 'an exponent', 429, { ra: '1e3' }, [undefined, 'backoff']],
  [10, 'Infinity', 429, { ra: 'Infinity' }, [undefined, 'backoff']],
  [11, 'an HTTP date without Date', 429, { ra: at('12:00:20') }, [19.75, 'retry-after']],
  [12, 'an HTTP date, our clock an hour fast', 429, { ra: at('11:00:20'), date: at('11:00:00') }, [20, 'retry-after']],
  [13, 'an HTTP date, our clock 10 min slow', 429, { ra: at('12:10:20'), date: at('12:10:00') }, [20, 'retry-after']],
  [14, 'an HTTP date in the past', 429, { ra: at('11:59:00'), date: NOON }, [0, 'retry-after']],
  [15, 'an RFC 850 date', 429, { ra: 'Saturday, 21-Nov-26 12:00:45 GMT', date: NOON }, [45, 'retry-after']],
  [16, 'an asctime date', 429, { ra: 'Sat Nov 21 12:00:45 2026', date: NOON }, [45, 'retry-after']],
  [17, 'an ISO date', 429, { ra: '2026-11-21T12:00:10Z' }, [undefined, 'backoff']],
  [18, 'a day that does not exist', 429, { ra: 'Sat, 31 Feb 2026 12:00:00 GMT' }, [undefined, 'backoff']],
  [19, 'a timestamp in seconds', 429, { ra: '1795262415', date: NOON }, [15, 'retry-after']],
  [20, 'a timestamp in milliseconds', 429, { ra: '1795262415000', date: NOON }, [15, 'retry-after']],
  [21, 'a timestamp long past', 429, { ra: '1400000000', date: NOON }, [undefined, 'backoff']],
  [
    22,
    'milliseconds, as the reset says too',
    429,
    { ...minute, ra: '30000', reset: '1795262430', rem: '0' },
    [30, 'retry-after', 60, 0, 30],
  ],
  [23, '30000 alone', 429, { ra: '30000' }, [30_000, 'retry-after']],
  [24, '3000000', 429, { ra: '3000000' }, [3_000_000, 'retry-after']],
  [25, 'a duration of minutes and seconds', 429, { ra: '1m30s' }, [undefined, 'backoff']],
  [26, 'a duration of milliseconds', 429, { ra: '500ms' }, [undefined, 'backoff']],
  [27, 'a list', 429, { ra: '10, 45' }, [undefined, 'backoff']],
  [28, 'the header twice, with two values', 429, { ra: ['5', '9'] }, [undefined, 'backoff']],
  [30, 'the header twice, with one value', 429, { ra: ['5', '5'] }, [5, 'retry-after']],
  [31, 'no Retry-After, a reset', 429, { ...minute, rem: '0', reset: '1795262442' }, [42, 'reset', 60, 0, 42]],
  [
    32,
    'a reset later than Retry-After',
    429,
    { ...minute, ra: '1', rem: '0', reset: '1795262442' },
    [42, 'reset', 60, 0, 42],
  ],
  [
    33,
    'a reset earlier than Retry-After',
    429,
    { ...minute, ra: '60', rem: '0', reset: '1795262403' },
    [60, 'retry-after', 60, 0, 3],
  ],
  [
    34,
    'Retry-After of another window',
    429,
    { ...minute, ra: '5', rem: '17', reset: '1795262440' },
    [5, 'retry-after', 60, 17, 40],
  ],
  [
    35,
    'the day used up, no Retry-After',
    429,
    { limit: '1000', rem: '0', reset: '1795294800', date: NOON },
    [32_400, 'reset', 1000, 0, 32_400],
  ],
  [
    36,
    'the day used up, Retry-After of 20 s',
    429,
    { limit: '1000', ra: '20', rem: '0', reset: '1795294800', date: NOON },
    [20, 'retry-after', 1000, 0, 32_400],
  ],
  [37, 'a bare 429', 429, {}, [undefined, 'backoff']],
  [38, 'a usual response', 200, { ...minute, rem: '41', reset: '1795262430' }, [undefined, 'backoff', 60, 41, 30]],
  [
    39,
    'more left than the limit',
    200,
    { ...minute, rem: '99', reset: '1795262430' },
    [undefined, 'backoff', undefined, undefined, 30],
  ],
  [40, 'less than nothing left', 200, { ...minute, rem: '-1', reset: '1795262430' }, [undefined, 'backoff', 60, 0, 30]],
  [41, 'a reset in ms', 200, { ...minute, rem: '10', reset: '1795262430000' }, [undefined, 'backoff', 60, 10, 30]],
  [42, 'a reset in seconds from now', 200, { ...minute, rem: '10', reset: '30' }, [undefined, 'backoff', 60, 10, 30]],
  [43, 'a reset 90 s ago', 200, { ...minute, rem: '10', reset: '1795262310' }, [undefined, 'backoff', 60, 10]],
  [
    44,
    'a reset, our clock an hour fast',
    200,
    { limit: '60', rem: '10', reset: '1795258830', date: at('11:00:00') },
    [undefined, 'backoff', 60, 10, 30],
  ],
  [
    45,
    'a limit of 0',
    200,
    { ...minute, limit: '0', rem: '0', reset: '1795262430' },
    [undefined, 'backoff', undefined, 0, 30],
  ],
  [46, 'no headers', 200, {}, [undefined, 'backoff']],
  [
    47,
    'a cached response',
    200,
    { limit: '60', rem: '10', reset: '1795262430', date: at('11:51:40'), age: '500' },
    [undefined, 'backoff', 60, 10, 29.75],
  ],
  [48, 'a 503 with Retry-After', 503, { ra: '4' }, [4, 'retry-after']],
  [
    49,
    'a 200 with Retry-After',
    200,
    { ...minute, ra: '10', rem: '5', reset: '1795262420' },
    [undefined, 'backoff', 60, 5, 20],
  ],
  [50, 'a repeated limit that agrees', 200, { limit: '60, 60', rem: '7' }, [undefined, 'backoff', 60, 7]],
  [51, 'a repeated remaining that contradicts itself', 200, { limit: '60', rem: '7, 9' }, [undefined, 'backoff', 60]],
  [52, 'fractions and signs in counts', 200, { limit: '60.5', rem: '+7' }, [undefined, 'backoff']],
  [53, 'a reset beyond a month', 200, { ...minute, rem: '1', reset: '1800000000' }, [undefined, 'backoff', 60, 1]],
  [
    54,
    'a reset between seconds and timestamps',
    200,
    { rem: '1', reset: '500000' },
    [undefined, 'backoff', undefined, 1],
  ],
  [
    55,
    'a reset in microseconds',
    200,
    { date: NOON, reset: '1795262430000000' },
    [undefined, 'backoff', undefined, undefined, 30],
  ],
  [
    56,
    'a reset as an HTTP date',
    200,
    { date: NOON, reset: at('12:00:30') },
    [undefined, 'backoff', undefined, undefined, 30],
  ],
  [57, 'a number beyond all sense', 429, { ra: '1e400' }, [undefined, 'backoff']],
  [58, 'digits without end', 429, { ra: '9'.repeat(400) }, [undefined, 'backoff']],
  [63, 'a bare 503', 503, {}, [undefined, 'backoff']],
  [
    64,
    'no Retry-After, a far reset, something left',
    429,
    { ...minute, rem: '5', reset: '1795294800' },
    [undefined, 'backoff', 60, 5, 32_400],
  ],
  [
    65,
    'no Retry-After, remaining absent',
    429,
    { date: NOON, reset: '1795262442' },
    [42, 'reset', undefined, undefined, 42],
  ],
];

for (const [number, title, status, given, expected] of VECTORS) {
  test(`vector ${number}: ${title}`, () => {
    const info = read(status, given);
    const [wait, from, limit, remaining, resetIn] = expected;
    expect([seconds(info.waitMs), info.waitFrom, info.limit, info.remaining, seconds(info.resetInMs)]).toEqual([
      wait,
      from,
      limit,
      remaining,
      resetIn,
    ]);
  });
}

test('Date bounds how far the service is ahead: its second has begun, and it was written after we sent', () => {
  expect(read(200, { date: NOON }).offset).toEqual({ lo: -250, hi: 770 });
  expect(read(200, {}).offset).toBeUndefined();
  expect(read(200, { date: NOON, age: '3' }).offset).toBeUndefined();
});

test('without Date the offset known from earlier responses corrects a timestamp', () => {
  const headers = { 'x-ratelimit-reset': '1795266030', 'x-ratelimit-remaining': '1' };
  expect(parseRateLimitHeaders({ status: 200, headers, receivedAt: NOW, sentAt: NOW }, 3_599_750).resetInMs).toBe(
    30_000,
  );
});

test('no header text makes a wait that is negative, not a number or endless', () => {
  const text = fc.oneof(
    fc.string(),
    fc.integer().map(String),
    fc.double().map(String),
    fc.date({ noInvalidDate: true }).map((d) => d.toUTCString()),
  );
  fc.assert(
    fc.property(text, text, text, text, (ra, rem, reset, date) => {
      const info = read(429, { ra, limit: reset, rem, reset, date });
      for (const value of [info.waitMs, info.resetInMs, info.limit, info.remaining]) {
        expect(value === undefined || (Number.isFinite(value) && value >= 0)).toBe(true);
      }
    }),
    { numRuns: 2000 },
  );
});
