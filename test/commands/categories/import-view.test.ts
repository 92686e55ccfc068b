// The summary of an import.
import { stripVTControlCharacters } from 'node:util';
import { expect, test } from 'vitest';
import { importView } from '../../../src/commands/categories/import-view.ts';
import type { TextContext } from '../../../src/output/view.ts';

test('the colored counts of an import wrap between words at 40 columns', () => {
  const paint = (text: string): string => `\u001b[32m${text}\u001b[39m`;
  const style = { bold: paint, dim: paint, red: paint, green: paint, yellow: paint, cyan: paint };
  const context: TextContext = { style, columns: 40, now: 0, table: () => [] };
  const created = Array.from({ length: 118 }, (_, id) => ({ id, name: 'dog' }));
  const document = { created, skipped: [], failed: [], unknown: [], pending: 82 };
  const text = [...importView.text({ document, failure: undefined }, context)].join('');
  expect(stripVTControlCharacters(text)).toBe('Created 118, skipped 0, failed 0,\nunknown 0, pending 82\n');
});
