// What an import prints at its end.
import { stripVTControlCharacters } from 'node:util';
import { expect, test } from 'vitest';
import { importView } from '../../../src/commands/categories/import-view.ts';
import type { TextContext } from '../../../src/output/view.ts';

test('the counts of an import are wrapped between words at 40 columns, whatever their colors', () => {
  const paint = (text: string): string => `\u001b[32m${text}\u001b[39m`;
  const style = { bold: paint, dim: paint, red: paint, green: paint, yellow: paint, cyan: paint };
  const context: TextContext = { style, columns: 40, now: 0, table: () => [] };
  const created = Array.from({ length: 118 }, (_, id) => ({ id, name: 'dog' }));
  const document = { created, skipped: [], failed: [], unknown: [], pending: 82 };
  const text = [...importView.text({ document, failure: undefined }, context)].join('');
  expect(stripVTControlCharacters(text)).toBe('Created 118, skipped 0, failed 0,\nunknown 0, pending 82\n');
});
