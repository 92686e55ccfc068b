// The line of progress of an import.
import { expect, test } from 'vitest';
import { startProgressLine } from '../../src/import/estimate.ts';
import type { QuotaView } from '../../src/rate-limit/quota-view.ts';
import { FakeClock } from '../support/fake-clock.ts';

const START = 1_800_000_000_000;

function quota(remaining: number, resetAt: number): QuotaView {
  return {
    window: { limit: 20, remaining, resetAt, seenAt: START, over: false },
    longWindow: undefined,
    blocked: undefined,
    seenAt: START,
    nextAt: undefined,
    inFlight: 0,
    clockOffset: undefined,
    shared: true,
  };
}

test('the line shows rows done, time left and quota; while it waits no quota, and the time counts down', async () => {
  const clock = new FakeClock(START);
  const results = { done: 0, created: 0, unknown: 0 };
  let view = quota(20, START + 5000);
  let waiting = false;
  const line = startProgressLine(
    2000,
    clock,
    () => view,
    () => waiting,
  );
  expect(line(results)).toBe('0 of 2,000 rows · 9 min left · quota 20 of 20 left');
  Object.assign(results, { done: 20, created: 20 });
  view = quota(0, START + 5000);
  waiting = true;
  const seen: string[] = [];
  for (let second = 0; second < 4; second++) {
    seen.push(line(results));
    await clock.sleep(1000);
  }
  expect(new Set(seen)).toEqual(new Set(['20 of 2,000 rows · 9 min left']));
  waiting = false;
  view = quota(19, START + 10_000);
  expect(line(results)).toMatch(/ · 9 min left · quota 19 of 20 left$/);
  Object.assign(results, { done: 1975, created: 1975 });
  results.unknown = 1;
  expect(line(results)).toBe('1,975 of 2,000 rows · 6s left · quota 19 of 20 left · 1 to look up');
});

test('the time left is never shorter than the wait for the next request', () => {
  const exhausted = { ...quota(0, START + 5000), nextAt: START + 6050 };
  const line = startProgressLine(
    25,
    new FakeClock(START),
    () => exhausted,
    () => true,
  );
  expect(line({ done: 20, created: 20, unknown: 0 })).toBe('20 of 25 rows · 7s left');
});

test('without a limit the time left follows from the pace, waits left out', async () => {
  const clock = new FakeClock(START);
  const results = { done: 0, created: 0, unknown: 0 };
  let waiting = false;
  const unknown = { ...quota(0, 0), window: undefined };
  const line = startProgressLine(
    2000,
    clock,
    () => unknown,
    () => waiting,
  );
  // The time before the first line, for example of a question, is no pace.
  await clock.sleep(20_000);
  expect(line(results)).toBe('0 of 2,000 rows');
  await clock.sleep(10_000);
  Object.assign(results, { done: 200, created: 200 });
  expect(line(results)).toBe('200 of 2,000 rows · 2 min left');
  waiting = true;
  await clock.sleep(30_000);
  expect(line(results)).toBe('200 of 2,000 rows · 2 min left');
});
