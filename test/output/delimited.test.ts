// CSV and TSV output; test/import/round-trip.test.ts reads it back.
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
const write = (format: 'csv' | 'tsv', rows: readonly Row[]): string =>
  [...delimited(format, columns, rows, false)].join('');

test('CSV is quoted according to RFC 4180', () => {
  const rows = [{ name: 'dog', description: 'says "wow", often' }, { name: 'a\nb', description: '' }, { name: 'cat' }];
  expect(write('csv', rows)).toBe('name,description\ndog,"says ""wow"", often"\n"a\nb",""\ncat,\n');
});

test('TSV lines end with a line feed, and fields with tabs are quoted', () => {
  expect(write('tsv', [{ name: 'a\tb', description: 'c,d' }])).toBe('name\tdescription\n"a\tb"\tc,d\n');
});
