// `--dry-run` in numbers: every request that the import would send counts, its lists included.
import { expect, test } from 'vitest';
import { previewOf } from '../../src/import/preview.ts';
import type { QuotaView } from '../../src/rate-limit/quota-view.ts';
import { named } from './fake-service.ts';

const NOW = 1_800_000_000_000;
const window = { limit: 60, remaining: 10, resetAt: NOW + 30_000, seenAt: NOW, over: false };
const quota = { window, longWindow: undefined } as QuotaView;
const rows = (count: number) => named(...Array.from({ length: count }, (_, at) => `n${at}`));
const noted = (...entries: ['created' | 'unknown' | 'failed', string?][]) =>
  new Map(entries.map(([state, id], at) => [at, { state, attempts: 1, ...(id && { id }) }]));

test.each([
  ['the list before the first row', 9, new Map(), false, 1],
  ['the list before the first row, which the window has no room for', 10, new Map(), false, 2],
  ['no list where an earlier run noted what was there and created nothing', 10, noted(['failed']), false, 1],
  ['a list to see whether what was created is there still', 11, noted(['created', '1']), false, 2],
  ['a list where existing names are left out, all the same', 11, noted(['created', '1']), true, 2],
  ['the list in which a lost row is looked up', 9, noted(['unknown']), false, 1],
  ['the list in which a lost row is looked up, which the window has no room for', 10, noted(['unknown']), false, 2],
  ['nothing where every row is there', 1, noted(['created', '1']), false, 0],
])('%s', (_what, count, known, skipExisting, windows) => {
  expect(previewOf(rows(count), known, [], { skipExisting, quota, now: NOW })).toMatchObject({ windows });
});

test('a dry run counts what is there, what is noted, and the list before', () => {
  const rows = named('dog', 'cat', 'cow', 'ant', 'bee');
  const noted = new Map([
    [0, { state: 'created', attempts: 1, id: '9223372036854775807' }],
    [2, { state: 'unknown', attempts: 0 }],
  ] as const);
  const listed = [
    { id: 9223372036854775807n, name: 'dog' },
    { id: 5, name: 'cat' },
  ];
  const options = { quota: { ...quota, window: { ...window, remaining: 1 } }, now: NOW };
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
    endsAt: new Date(NOW + 30_000).toISOString(),
  });
  const all = previewOf(rows, noted, listed, { ...options, skipExisting: false });
  expect(all.toCreate.map(({ name }) => name)).toEqual(['cat', 'ant', 'bee']);
});
