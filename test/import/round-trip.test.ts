// The machine formats of `categories list` are imported unchanged.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { NewCategory } from '../../src/api/types.ts';
import { readRows } from '../../src/import/rows.ts';
import { delimited } from '../../src/output/delimited.ts';
import type { Column } from '../../src/output/view.ts';

const anyText = fc.string({
  unit: fc.oneof(
    fc.constantFrom(...'"\',;\t\n\r \\\ufeff\u2028\u0000\u001b', '""', '\r\n'),
    fc.constantFrom('👩‍🚀', '🏳️‍🌈', 'é', 'e\u0301', 'ž', '中', '\u202e', '{', '[', 'name', '=1+1', '-', '#'),
    fc.string({ unit: 'binary', minLength: 1, maxLength: 3 }),
  ),
  maxLength: 12,
});
const categories = fc.array(
  fc.record({
    id: fc.nat(),
    name: anyText.filter((name) => name.trim() !== ''),
    description: fc.option(anyText, { nil: undefined }),
  }),
  { minLength: 1, maxLength: 20 },
);

interface Listed {
  readonly id: number;
  readonly name: string;
  readonly description: string | undefined;
}

const columns: readonly Column<Listed>[] = [
  { header: 'id', value: (row) => String(row.id) },
  { header: 'name', value: (row) => row.name },
  { header: 'description', value: (row) => row.description },
];

const printed: Readonly<Record<string, (rows: readonly Listed[]) => string>> = {
  csv: (rows) => [...delimited('csv', columns, rows, false)].join(''),
  tsv: (rows) => [...delimited('tsv', columns, rows, false)].join(''),
  ndjson: (rows) => rows.map((row) => `${JSON.stringify(row)}\n`).join(''),
  json: (rows) => `${JSON.stringify(rows, null, 2)}\n`,
};

function imported(content: string, extension: string): Promise<readonly NewCategory[]> {
  const file = { label: 'it', extension, bytes: Buffer.from(content) };
  return readRows(file, { ignoreExtra: false });
}

test.each(Object.keys(printed))(
  'a list printed as %s is read unchanged from a file and from a pipe',
  async (format) => {
    await fc.assert(
      fc.asyncProperty(categories, async (rows) => {
        const expected = rows.map(({ name, description }) =>
          description === undefined ? { name } : { name, description },
        );
        const text = printed[format]?.(rows) ?? '';
        expect(await imported(text, `.${format}`)).toEqual(expected);
        expect(await imported(text, '')).toEqual(expected);
      }),
      { numRuns: 60 },
    );
  },
);
