// The pace without headers: requests in flight, and the gap between a response and the next request.
import { expect, test } from 'vitest';
import type { Pace } from '../../src/rate-limit/pace.ts';
import { gapOf, initialPace, pacePassed, paceRefused } from '../../src/rate-limit/pace.ts';
import { RULES } from '../../src/rate-limit/rules.ts';

const passed = (pace: Pace, times: number): Pace =>
  Array.from({ length: times }).reduce<Pace>((now) => pacePassed(now, now.heardAt), pace);
const begun: Pace = { ...passed(initialPace(), 3), heardAt: 0 };
// A request that was alone in flight is refused at `at`, with a stated wait of `waitMs`.
const refusedAlone = (pace: Pace, at: number, waitMs = 1000): Pace => paceRefused(pace, at, 1, waitMs, true);

test('a refusal halves the requests in flight, down to one', () => {
  expect(paceRefused({ ...begun, atOnce: 6 }, 100, 6, 1000, true).atOnce).toBe(3);
  expect(paceRefused({ ...begun, atOnce: 100 }, 100, 6, 1000, true).atOnce).toBe(3);
  expect(paceRefused(begun, 100, 1, 1000, true).atOnce).toBe(1);
});

test('each early refusal of a single request widens the gap by half, up to the whole wait, and then removes it', () => {
  let pace = begun;
  const gaps = Array.from({ length: RULES.gapSteps + 1 }, (_, index) => {
    pace = refusedAlone(pace, 10_000 * index);
    const gap = gapOf(pace);
    pace = passed(pace, 3);
    return Math.round(gap);
  });
  expect(gaps).toEqual([59, 88, 132, 198, 296, 444, 667, 1000, 0]);
});

test.each<[string, Pace]>([
  ['others were in flight', paceRefused(begun, 100, 2, 1000, true)],
  ['four requests had succeeded', refusedAlone(passed(begun, 1), 100)],
  [
    'nothing had succeeded since the last refusal',
    refusedAlone({ ...begun, passed: 0, refusedAt: 0, widestMs: 1 }, 100),
  ],
])('a refusal adds no gap if %s', (_what, pace) => {
  expect(gapOf(pace)).toBe(0);
});

test('the widest gap is the longest stated wait while there is a gap, otherwise the latest one, and at most a minute', () => {
  const long = refusedAlone(begun, 0, 8000);
  expect(refusedAlone(passed(long, 3), 100, 1000).widestMs).toBe(8000);
  expect(refusedAlone(passed(long, 40), 100, 1000).widestMs).toBe(1000);
  expect(refusedAlone(begun, 0, 12 * 3_600_000).widestMs).toBe(60_000);
  expect(refusedAlone(passed(long, 3), 0, 3_600_000).widestMs).toBe(60_000);
});

test('without a stated wait the widest gap is the time from the first refusal until the end of the last wait', () => {
  let pace = paceRefused(begun, 0, 1, 1000, false);
  pace = paceRefused(pace, 1000, 1, 2000, false);
  pace = paceRefused(pace, 3000, 1, 4000, false);
  expect(pace.widestMs).toBe(7000);
});

test('a refused probe that kept the widest gap removes the gap, because pace is not the cause', () => {
  const gapped = refusedAlone(begun, 0, 1000);
  expect(gapOf(paceRefused(gapped, 999, 1, 1000, true))).toBeGreaterThan(0);
  expect(gapOf(paceRefused(gapped, 1000, 1, 1000, true))).toBe(0);
});

test('thirty successes remove the gap, and only a refusal among the next four requests restores it', () => {
  const gapped: Pace = { ...begun, step: 4, widestMs: 1000, passed: 0 };
  expect(gapOf(passed(gapped, RULES.gapLife - 1))).toBeGreaterThan(0);
  expect(gapOf(passed(gapped, RULES.gapLife))).toBe(0);
  expect(refusedAlone(passed(gapped, RULES.gapLife + RULES.soon - 1), 0).step).toBe(4);
  expect(refusedAlone(passed(gapped, RULES.gapLife + RULES.soon), 0).step).toBe(0);
});
