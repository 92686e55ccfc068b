// The line of progress, and what a dry run foretells.
import { expect, test } from 'vitest';
import { followPace } from '../../src/import/pace.ts';
import { previewOf } from '../../src/import/preview.ts';
import { Tally } from '../../src/import/tally.ts';
import type { QuotaView } from '../../src/quota/view.ts';
import { fakeClock, named, storeOf } from './fake-service.ts';

const START = 1_800_000_000_000;

function quota(remaining: number, resetAt: number): QuotaView {
  return {
    window: { limit: 20, remaining, resetAt, seenAt: START, over: false },
    longWindow: undefined,
    blocked: undefined,
    seenAt: START,
    nextAt: undefined,
    inFlight: 0,
    processes: 1,
    clockOffset: undefined,
    shared: true,
  };
}

test('done of total, rate, quota and time left are told, ten times a second at most', async () => {
  const rows = storeOf(named(...Array.from({ length: 100 }, (_, at) => `n${at}`)));
  const clock = fakeClock();
  const tally = new Tally(rows);
  let view = quota(15, START + 2000);
  const line = followPace(100, clock, () => view);
  expect(line(tally)).toBe('0 of 100 rows · quota 15 of 20 left');
  expect(line(tally)).toBeUndefined();
  await clock.sleep(1000);
  for (let row = 0; row < 20; row++) tally.create(row, { id: row, name: '' });
  tally.lose(20);
  // Nothing is known of the length of a window but the minute of the document: four resets, the first in a second.
  expect(line(tally)).toBe('20 of 100 rows · 20/s · quota 15 of 20 left · about 3m 1s left · 1 to look up');
  await clock.sleep(1000);
  view = quota(20, START + 4000);
  expect(line(tally)).toBe('20 of 100 rows · 10/s · quota 20 of 20 left · about 8s left · 1 to look up');
});

test('a dry run counts what is there, what is noted, and the list before', () => {
  const rows = storeOf(named('dog', 'cat', 'cow', 'ant', 'bee'));
  const noted = new Map([
    [0, { status: 'created', tries: 1, id: '9223372036854775807' }],
    [2, { status: 'undecided', tries: 0 }],
  ] as const);
  const listed = [
    { id: 9223372036854775807n, name: 'dog' },
    { id: 5, name: 'cat' },
  ];
  const options = { quota: quota(1, START + 2000), now: START };
  const strict = previewOf(rows, noted, listed, { ...options, skipExisting: true });
  expect(strict).toEqual({
    dryRun: true,
    toCreate: [
      { row: 4, name: 'ant' },
      { row: 5, name: 'bee' },
    ],
    skipped: [
      { row: 1, name: 'dog', id: 9223372036854775807n },
      { row: 2, name: 'cat', id: 5 },
    ],
    undecided: 1,
    windows: 2,
    endsAt: new Date(START + 2000).toISOString(),
  });
  const all = previewOf(rows, noted, listed, { ...options, skipExisting: false });
  expect(all.toCreate.map(({ name }) => name)).toEqual(['cat', 'ant', 'bee']);
});
