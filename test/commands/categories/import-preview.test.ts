// `--dry-run`: what would be created and skipped, and how long it takes.
import { expect, test } from 'vitest';
import { journalFormat } from '../../../src/import/journal-state.ts';
import { previewOf } from '../../../src/import/results.ts';
import type { QuotaView } from '../../../src/rate-limit/quota-view.ts';
import { named } from '../../import/fake-service.ts';

const NOW = 1_800_000_000_000;

test('a dry run counts what is listed and what is journaled', () => {
  const rows = named('dog', 'cat', 'cow', 'ant', 'bee');
  const state = journalFormat.initial();
  state.rows.set(0, { state: 'created', attempts: 1, id: '9223372036854775807' });
  state.owners.set('9223372036854775807', 0);
  state.rows.set(2, { state: 'unknown', attempts: 0 });
  const listed = [
    { id: 9223372036854775807n, name: 'dog' },
    { id: 5, name: 'cat' },
  ];
  const window = { limit: 60, remaining: 1, resetAt: NOW + 30_000, seenAt: NOW, over: false };
  const options = { quota: { window, longWindow: undefined } as QuotaView, now: NOW };
  const strict = previewOf(rows, state, listed, { ...options, skipExisting: true });
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
    unknown: 1,
    estimate: { ms: 30_000, limit: 60, windowMs: 60_000, isDaily: false },
  });
  const all = previewOf(rows, state, listed, { ...options, skipExisting: false });
  expect(all.toCreate.map(({ name }) => name)).toEqual(['cat', 'ant', 'bee']);
});
