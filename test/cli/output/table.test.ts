// Tables: columns are aligned by display width, no line is wider than the terminal, and control characters are escaped.
import fc from 'fast-check';
import cellWidth from 'string-width';
import { expect, test } from 'vitest';
import { loadStyle } from '../../../src/cli/output/render.ts';
import { fitWidths, formatTable } from '../../../src/cli/output/table.ts';
import type { Column } from '../../../src/cli/output/view.ts';
import { world } from '../../support/world.ts';

interface Row {
  readonly id: string;
  readonly name: string;
  readonly description?: string;
}

const columns: readonly Column<Row>[] = [
  { header: 'id', value: (row) => row.id, align: 'right' },
  { header: 'name', value: (row) => row.name },
  { header: 'description', value: (row) => row.description },
];

const styleOf = (wanted: boolean) => loadStyle(world([], { columns: 80 }).stdout, {}, wanted);
const style = await styleOf(false);
const draw = (rows: readonly Row[], width?: number): string =>
  [...formatTable(columns, rows, { columns: width, style })].join('');
const lines = (text: string): string[] => text.slice(0, -1).split('\n');

const pets: readonly Row[] = [
  { id: '1', name: 'dog', description: 'a loyal companion of people for fifteen thousand years or more' },
  { id: '23', name: '犬と猫', description: '日本語の説明文がここに入ります、とても長いです' },
  { id: '9223372036854775807', name: 'cafe\u0301', description: '👩‍👩‍👧 with 🐕' },
  { id: '4', name: 'a name that is rather long for a name' },
];

test('an id that fits in half of the terminal width keeps every digit in a table', () => {
  expect(draw(pets, 40)).toContain('9223372036854775807');
});

test('a cell of 300 characters pads no other row of a table in a pipe', () => {
  const long = 'x'.repeat(300);
  const row = (id: string, name: string): Row => ({ id, name, description: 'a pet' });
  expect(draw([row('1', 'dog'), row('22', long), row('3', 'y'.repeat(40))])).toBe(
    [
      `ID  NAME${' '.repeat(36)}  DESCRIPTION`,
      ` 1  dog${' '.repeat(37)}  a pet`,
      `22  ${long}  a pet`,
      ` 3  ${'y'.repeat(40)}  a pet\n`,
    ].join('\n'),
  );
});

test('no line of a table with random text is wider than a terminal of 20 to 120 columns', () => {
  const text = fc.string({ unit: 'grapheme', maxLength: 30 });
  const row = fc.record({ id: fc.maxSafeNat().map(String), name: text, description: text });
  fc.assert(
    fc.property(fc.array(row, { maxLength: 5 }), fc.integer({ min: 20, max: 120 }), (rows, width) => {
      for (const line of lines(draw(rows, width))) {
        if (cellWidth(line) > width) throw new Error(`${cellWidth(line)} cells at ${width}: ${JSON.stringify(line)}`);
      }
    }),
    { numRuns: 500 },
  );
});

test('the columns of a table are aligned across rows with several scripts and emoji', () => {
  const mixed = ['dog', '犬', 'e\u0301', '👩‍👩‍👧', '👍🏽', 'ﾊﾝ', '강아지', '🇩🇪', 'नमस्ते', '🫩'];
  const rows = mixed.map((name) => ({ id: '1', name, description: '|' }));
  const starts = lines(draw(rows))
    .slice(1)
    .map((line) => cellWidth(line.slice(0, line.lastIndexOf('|'))));
  expect(new Set(starts).size).toBe(1);
});

test('a table row without a wrapping column is one line with control characters escaped, and an empty table has only headings', () => {
  const text = draw([{ id: '1', name: 'a\nb\r\u001b[2Jc', description: 'x\u202ey\u009b31m' }]);
  expect(lines(text)).toHaveLength(2);
  expect(text).toContain('a␊b␍␛[2Jc');
  expect(text).toContain('x<U+202E>y<U+009B>31m');
  expect(draw([])).toBe('ID  NAME  DESCRIPTION\n');
});

test('if color is enabled, table headings are bold, and the layout is the same', async () => {
  const painted = [...formatTable(columns, pets, { columns: 40, style: await styleOf(true) })].join('');
  expect(painted).toMatch(/^\u001b\[1m.*\u001b\[22m\n/);
  expect(painted.replaceAll(/\u001b\[\d+m/g, '')).toBe(draw(pets, 40));
});

test.each<[number[], number, number[], boolean[]]>([
  [[2, 10, 20], 80, [2, 10, 20], []],
  [[2, 120, 300], 80, [2, 37, 37], []],
  [[2, 20, 300], 80, [2, 20, 54], []],
  [[300, 20, 2], 80, [54, 20, 2], []],
  [[9, 9, 9], 4, [1, 1, 1], []],
  // A number keeps its width if that is at most half of the terminal.
  [[20, 50, 50], 40, [20, 8, 8], [true, false, false]],
  [[19, 50], 30, [14, 14], [true, false]],
])('columns of the widths %j in %i cells get the widths %j (numeric: %j)', (natural, available, widths, whole) => {
  expect(fitWidths(natural, available, whole)).toEqual(widths);
});

test('a wrapping column keeps every word, and breaks words that are wider than the column', () => {
  const wrapping: readonly Column<Row>[] = [
    { header: 'name', value: (row) => row.name },
    { header: 'description', value: (row) => row.description, wrap: true },
  ];
  const rows = [{ id: '', name: 'dog', description: `a loyal 犬 ${'x'.repeat(20)}\nsecond line` }];
  expect([...formatTable(wrapping, rows, { columns: 20, style })].join('')).toBe(
    'NAME  DESCRIPTION\ndog   a loyal 犬\n      xxxxxxxxxxxxxx\n      xxxxxx\n      second line\n',
  );
});

test('a table of 1,000 rows is laid out page by page, and a cell of 75,000 characters is one line', () => {
  const rows = Array.from({ length: 1000 }, (_, at) => ({ id: String(at), name: `犬 ${at}`, description: 'pet' }));
  const pieces = [...formatTable(columns, rows, { columns: 80, style })];
  expect(lines(pieces.join(''))).toHaveLength(1001);
  expect(pieces.length).toBeGreaterThan(5);
  const name = `${'犬\u0301'.repeat(25_000)}${'\n'.repeat(25_000)}`;
  expect(lines(draw([{ id: '1', name }], 80))).toHaveLength(2);
});
