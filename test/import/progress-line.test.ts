// The line of progress of an import.
import { expect, test } from 'vitest';
import { startProgressLine } from '../../src/import/progress-line.ts';
import { ImportResults } from '../../src/import/results.ts';
import type { QuotaView } from '../../src/rate-limit/quota-view.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { named } from './fake-service.ts';

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

test('done of total, rate, quota and time left are told, ten times a second at most', async () => {
  const rows = named(...Array.from({ length: 100 }, (_, at) => `n${at}`));
  const clock = new FakeClock(1_800_000_000_000);
  const tally = new ImportResults(rows);
  let view = quota(15, START + 2000);
  const line = startProgressLine(100, clock, () => view);
  expect(line(tally)).toBe('0 of 100 rows · quota 15 of 20 left');
  expect(line(tally)).toBe('0 of 100 rows · quota 15 of 20 left');
  tally.set(99, { state: 'created', category: { id: 99, name: '' } });
  expect(line(tally)).toBe('0 of 100 rows · quota 15 of 20 left');
  await clock.sleep(1000);
  for (let row = 0; row < 19; row++) tally.set(row, { state: 'created', category: { id: row, name: '' } });
  tally.set(20, { state: 'unknown' });
  // Nothing is known of the length of a window but the minute of the document: four resets, the first in a second.
  expect(line(tally)).toBe('20 of 100 rows · 20/s · quota 15 of 20 left · about 3m 1s left · 1 to look up');
  await clock.sleep(1000);
  view = quota(20, START + 4000);
  expect(line(tally)).toBe('20 of 100 rows · 10/s · quota 20 of 20 left · about 8s left · 1 to look up');
});
