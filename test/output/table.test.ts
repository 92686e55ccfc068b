// Tables: columns stand straight by display width, no line is wider than the terminal, nothing acts on it.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { cellWidth } from '../../src/output/cell-width.ts';
import { plainStyle } from '../../src/output/plain-style.ts';
import { createStyle } from '../../src/output/style.ts';
import { table } from '../../src/output/table.ts';
import type { Column } from '../../src/output/view.ts';

interface Row {
  readonly id: string;
  readonly name: string;
  readonly description?: string;
}

const columns: readonly Column<Row>[] = [
  { header: 'id', value: (row) => row.id, align: 'right' },
  { header: 'name', value: (row) => row.name, shrink: 2 },
  { header: 'description', value: (row) => row.description, shrink: 1 },
];

const draw = (rows: readonly Row[], width?: number): string => [...table(columns, rows, width, plainStyle)].join('');
const lines = (text: string): string[] => text.slice(0, -1).split('\n');

const pets: readonly Row[] = [
  { id: '1', name: 'dog', description: 'a loyal companion of people for fifteen thousand years or more' },
  { id: '23', name: '犬と猫', description: '日本語の説明文がここに入ります、とても長いです' },
  { id: '9223372036854775807', name: 'cafe\u0301', description: '👩‍👩‍👧 with 🐕' },
  { id: '4', name: 'a name that is rather long for a name' },
];

test('at 80 columns the description gives way first', () => {
  expect(draw(pets, 80)).toMatchInlineSnapshot(`
    "                 ID  NAME                                   DESCRIPTION
                      1  dog                                    a loyal companion o…
                     23  犬と猫                                 日本語の説明文がこ…
    9223372036854775807  café                                   👩‍👩‍👧 with 🐕
                      4  a name that is rather long for a name
    "
  `);
});

test('at 40 columns it is still readable', () => {
  expect(draw(pets, 40)).toMatchInlineSnapshot(`
    "                 ID  NAME       DESCRIP…
                      1  dog        a loyal…
                     23  犬と猫     日本語…
    9223372036854775807  café       👩‍👩‍👧 with…
                      4  a name t…
    "
  `);
});

test('piped, it is aligned and every text is whole', () => {
  const text = draw(pets);
  for (const pet of pets) expect(text).toContain(pet.description ?? pet.name);
  expect(text).toMatchInlineSnapshot(`
    "                 ID  NAME                                   DESCRIPTION
                      1  dog                                    a loyal companion of people for fifteen thousand years or more
                     23  犬と猫                                 日本語の説明文がここに入ります、とても長いです
    9223372036854775807  café                                   👩‍👩‍👧 with 🐕
                      4  a name that is rather long for a name
    "
  `);
});

test('no line is wider than the terminal, whatever the rows hold and however narrow it is', () => {
  const text = fc.string({ unit: 'grapheme', maxLength: 30 });
  const row = fc.record({ id: fc.maxSafeNat().map(String), name: text, description: text });
  fc.assert(
    fc.property(fc.array(row, { maxLength: 5 }), fc.integer({ min: 1, max: 120 }), (rows, width) => {
      for (const line of lines(draw(rows, width))) {
        if (cellWidth(line) > width) throw new Error(`${cellWidth(line)} cells at ${width}: ${JSON.stringify(line)}`);
      }
    }),
    { numRuns: 3000 },
  );
});

test('columns begin at the same cell in every row', () => {
  const mixed = ['dog', '犬', 'e\u0301', '👩‍👩‍👧', '👍🏽', 'ﾊﾝ', '강아지', '🇩🇪', 'नमस्ते', '🫩'];
  const rows = mixed.map((name) => ({ id: '1', name, description: '|' }));
  const starts = lines(draw(rows))
    .slice(1)
    .map((line) => cellWidth(line.slice(0, line.lastIndexOf('|'))));
  expect(new Set(starts).size).toBe(1);
});

test('a row is one line, and what could act on the terminal is visible', () => {
  const text = draw([{ id: '1', name: 'a\nb\r\u001b[2Jc', description: 'x\u202ey\u009b31m' }]);
  expect(lines(text)).toHaveLength(2);
  expect(text).toContain('a␊b␍␛[2Jc');
  expect(text).toContain('x<U+202E>y<U+009B>31m');
});

test('a list without rows is its headings', () => {
  expect(draw([])).toBe('ID  NAME  DESCRIPTION\n');
});

test('headings are painted where the stream carries colour, and their width stays', () => {
  const painted = [...table(columns, pets, 40, createStyle(1))].join('');
  expect(painted).toContain('\u001b[1m');
  expect(painted.replaceAll(/\u001b\[\d+m/g, '')).toBe(draw(pets, 40));
});

describe('large tables', () => {
  // A fault of the layout's order of growth would take minutes here, not the deadline of a test.
  test('100,000 rows are laid out, piece by piece', { timeout: 60_000 }, () => {
    const rows = Array.from({ length: 100_000 }, (_, at) => ({ id: String(at), name: `犬 ${at}`, description: 'pet' }));
    let pieces = 0;
    let breaks = 0;
    for (const piece of table(columns, rows, 80, plainStyle)) {
      pieces++;
      breaks += piece.split('\n').length - 1;
    }
    expect(breaks).toBe(100_001);
    expect(pieces).toBeGreaterThan(100);
  });

  test('one hostile cell of a million characters is no trouble', () => {
    const name = `${'犬\u0301'.repeat(250_000)}${'\n'.repeat(250_000)}`;
    expect(lines(draw([{ id: '1', name }], 80))).toHaveLength(2);
  });
});
