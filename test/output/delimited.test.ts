// CSV and TSV output, read back by csv-parse.
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { delimited } from '../../src/output/delimited.ts';
import type { Column } from '../../src/output/view.ts';

interface Row {
  readonly name: string;
  readonly description?: string | undefined;
}

const columns: readonly Column<Row>[] = [
  { header: 'name', value: (row) => row.name },
  { header: 'description', value: (row) => row.description },
];
const write = (format: 'csv' | 'tsv', rows: readonly Row[], safe = false): string =>
  [...delimited(format, columns, rows, safe)].join('');

test('CSV is quoted according to RFC 4180', () => {
  const rows = [{ name: 'dog', description: 'says "wow", often' }, { name: 'a\nb', description: '' }, { name: 'cat' }];
  expect(write('csv', rows)).toBe('name,description\ndog,"says ""wow"", often"\n"a\nb",""\ncat,\n');
});

test('TSV lines end with a line feed, and fields with tabs are quoted', () => {
  expect(write('tsv', [{ name: 'a\tb', description: 'c,d' }])).toBe('name\tdescription\n"a\tb"\tc,d\n');
});

test.each(['csv', 'tsv'] as const)(
  'any text, including formulas, quotes, blanks and control characters, is read back unchanged from %s',
  (format) => {
    const text = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 12 }),
      fc.string({ unit: fc.constantFrom('"', ',', '\t', '\r', '\n', ' ', '=', '\ufeff', '犬', 'a', ';') }),
    );
    fc.assert(
      fc.property(fc.array(fc.record({ name: text, description: text }), { minLength: 1, maxLength: 5 }), (rows) => {
        const delimiter = format === 'csv' ? ',' : '\t';
        expect(parse(write(format, rows), { columns: true, delimiter, relax_column_count: false })).toEqual(rows);
      }),
      { numRuns: 2000 },
    );
  },
);

test('CSV rows keep their order if only some of them need quotes', () => {
  const names = Array.from({ length: 1200 }, (_, i) => (i % 7 < 3 ? `a, ${i}` : `b${i}`));
  const text = write(
    'csv',
    names.map((name) => ({ name })),
  );
  expect(parse(text, { columns: true })).toEqual(names.map((name) => ({ name, description: '' })));
});
