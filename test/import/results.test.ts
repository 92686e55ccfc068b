// The results of `--dry-run`.
import { expect, test } from 'vitest';
import { newAccount } from '../../src/import/journal-state.ts';
import { findRows } from '../../src/import/list-proof.ts';
import { previewOf } from '../../src/import/results.ts';
import type { QuotaView } from '../../src/rate-limit/quota-view.ts';
import { named } from './fake-service.ts';

const NOW = 1_800_000_000_000;

test('a dry run names missing and existing rows and counts those that an earlier run left unknown', () => {
  const rows = named('dog', 'cat', 'cow', 'cat', 'ant');
  const account = newAccount();
  account.uncertain.set('run-1', { name: 'cow', known: 0 });
  const listed = [
    { id: 9223372036854775807n, name: 'dog' },
    { id: 5, name: 'cat' },
  ];
  const quota = { window: undefined, longWindow: undefined } as QuotaView;
  expect(previewOf(rows, findRows(rows, account, listed), { quota, now: NOW })).toMatchObject({
    dryRun: true,
    toCreate: [
      { row: 4, name: 'cat' },
      { row: 5, name: 'ant' },
    ],
    skipped: [
      { row: 1, name: 'dog', id: 9223372036854775807n },
      { row: 2, name: 'cat', id: 5 },
    ],
    unknown: 1,
  });
});
