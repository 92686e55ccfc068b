// Durations and times, as people read and type them.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  formatChosenDuration,
  formatCount,
  formatDuration,
  formatLocalTime,
  formatMaximum,
  formatRemaining,
  formatSome,
  formatTime,
  formatUntil,
  parseDuration,
  quoted,
} from '../../src/text/format.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

test.each([
  [-5, '0s'],
  [1, '1s'],
  [59_001, '1m'],
  [125_000, '2m 5s'],
  [HOUR + 1, '1h 1m'],
  [24 * HOUR, '1 day'],
  [51 * HOUR, '2 days 3h'],
])('a duration of %i ms is shown as "%s"', (ms, text) => {
  expect(formatDuration(ms)).toBe(text);
});

test('a duration is rounded up by less than the smallest unit shown', () => {
  const duration = fc.oneof(fc.nat(MINUTE), fc.nat(HOUR), fc.nat(24 * HOUR), fc.nat(500 * 24 * HOUR));
  fc.assert(
    fc.property(duration, (ms) => {
      const shown =
        parseDuration(
          formatDuration(ms)
            .replace(/ days?/, 'd')
            .replaceAll(' ', ''),
        ) ?? Number.NaN;
      const unit = ms < HOUR - 1000 ? 1000 : ms < 24 * HOUR - MINUTE ? MINUTE : HOUR;
      expect(shown).toBeGreaterThanOrEqual(ms);
      expect(shown).toBeLessThan(ms + unit);
    }),
    { numRuns: 1000 },
  );
});

test.each([
  [' 30 ', 30_000],
  ['1.5m', 90_000],
  ['500ms', 500],
  ['1m30s', 90_000],
  ['2h30m1.5s', 9_001_500],
])('the duration "%s" is parsed as %i ms', (text, ms) => {
  expect(parseDuration(text)).toBe(ms);
});

test.each(['1h30', '', '-1s', '1w', '999999999999d'])('the text %j is not parsed as a duration', (text) => {
  expect(parseDuration(text)).toBeUndefined();
});

test.each([
  [0, '0s'],
  [500, '500ms'],
  [1500, '1500ms'],
  [30_000, '30s'],
  [90_000, '1m 30s'],
])('a duration of %i ms that a user chose is shown as "%s"', (ms, text) => {
  expect(formatChosenDuration(ms)).toBe(text);
});

test('a local time has a date only on another day, and a wait of at most a minute is shown without its end', () => {
  const noon = new Date(2026, 10, 21, 12, 0).getTime();
  expect(formatLocalTime(noon + 65 * MINUTE, noon)).toBe('13:05');
  expect(formatLocalTime(noon + 13 * HOUR, noon)).toBe('2026-11-22 01:00');
  expect(formatTime(noon + 2 * MINUTE, noon)).toBe('in 2m (at 12:02)');
  expect(formatTime(noon + MINUTE, noon)).toBe('in 1m');
  expect([formatUntil(noon + MINUTE, noon), formatUntil(noon + 2 * MINUTE, noon)]).toEqual(['', ' (until 12:02)']);
});

test('a limit above 1,000,000 is shown as unlimited, and 1,000,000 as a number', () => {
  expect([formatRemaining(5, 1_000_000), formatMaximum(1_000_000)]).toEqual(['5 of 1,000,000', 'at most 1,000,000']);
  expect([formatRemaining(5, 1_000_001), formatMaximum(1_000_001)]).toEqual(['unlimited', 'unlimited']);
  expect(formatRemaining(1234, null)).toBe('1,234');
});

test('a count of 1 has a singular noun, and a list or a quote is shortened only above its maximum', () => {
  expect([0, 1, 2000].map((count) => formatCount(count, 'row'))).toEqual(['0 rows', '1 row', '2,000 rows']);
  expect([formatSome(['a', 'b'], 2), formatSome(['a', 'b', 'c'], 2)]).toEqual(['a, b', 'a, b, and 1 more']);
  expect(quoted('x'.repeat(40))).toBe(`"${'x'.repeat(40)}"`);
  expect(quoted('x'.repeat(41))).toBe(`"${'x'.repeat(40)}…"`);
});
