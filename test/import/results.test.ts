// The results of `--dry-run`.
import { expect, test } from 'vitest';
import { matchRows } from '../../src/import/list.ts';
import { previewOf } from '../../src/import/results.ts';
import type { QuotaView } from '../../src/rate-limit/quota-view.ts';
import { named } from './fake-service.ts';

const NOW = 1_800_000_000_000;

test('a dry run names missing and existing rows', () => {
  const rows = named('dog', 'cat', 'cat', 'ant');
  const listed = [
    { id: 9223372036854775807n, name: 'dog' },
    { id: 5, name: 'cat' },
    { id: 6, name: 'ANT' },
  ];
  const quota = { window: undefined, longWindow: undefined } as QuotaView;
  expect(previewOf(rows, matchRows(rows, rows.keys(), listed), { quota, now: NOW })).toMatchObject({
    dryRun: true,
    toCreate: [
      { row: 3, name: 'cat' },
      { row: 4, name: 'ant' },
    ],
    skipped: [
      { row: 1, name: 'dog', id: 9223372036854775807n },
      { row: 2, name: 'cat', id: 5 },
    ],
  });
});
