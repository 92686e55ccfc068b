// The output of `categories list` in a machine format can be imported.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { COLUMNS, listView } from '../../src/cli/commands/categories/list.ts';
import { loadRenderer } from '../../src/cli/output/render.ts';
import { readRows } from '../../src/cli/rows/rows.ts';
import { world } from '../support/world.ts';

const anyText = fc.string({
  unit: fc.oneof(
    fc.constantFrom(...'"\',;\t\n\r \\\ufeff\u2028\u0000\u001b', '""', '\r\n'),
    fc.constantFrom('👩‍🚀', '🏳️‍🌈', 'é', 'e\u0301', 'ž', '中', '\u202e', '{', '[', 'name', '=1+1', '-', '#'),
    fc.string({ unit: 'binary', minLength: 1, maxLength: 3 }),
  ),
  maxLength: 12,
});
const category = fc.record(
  { id: fc.nat(), name: anyText.filter((name) => !/^[\s\0]*$/.test(name)), description: anyText },
  { requiredKeys: ['id', 'name'] },
);

const FORMATS = ['json', 'ndjson', 'csv', 'tsv'] as const;
test.each(FORMATS)('names and descriptions printed as %s are read unchanged from a file or a pipe', async (format) => {
  // An empty NDJSON file is an error.
  const length = { minLength: format === 'ndjson' ? 1 : 0, maxLength: 20 };
  // A name with two descriptions is an error.
  const categories = fc.uniqueArray(category, { ...length, selector: ({ name }) => name });
  const print = await loadRenderer(listView, world([]), { format, color: false });
  await fc.assert(
    fc.asyncProperty(categories, async (listed) => {
      const bytes = Buffer.from([...print({ categories: listed, columns: COLUMNS })].join(''));
      const expected = listed.map(({ id: _id, ...category }) => category);
      for (const extension of [`.${format}`, '']) {
        const rows = await readRows({ label: 'it', extension, bytes }, { ignoreExtra: false });
        expect(rows.map(({ line: _line, ...row }) => row)).toEqual(expected);
      }
    }),
    { numRuns: 30 },
  );
});
