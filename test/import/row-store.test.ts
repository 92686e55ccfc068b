// Rows held compactly: what goes in comes out, also what went to disk meanwhile, and nothing stays there.
import { readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { RowStore } from '../../src/import/row-store.ts';
import { tempDir } from '../support/temp-dir.ts';

const description = (row: number): string | undefined => (row % 3 === 0 ? undefined : 'ž🐕'.repeat(row % 1000));

function filled(count: number, dir?: string): RowStore {
  const rows = new RowStore(dir);
  for (let row = 0; row < count; row++) rows.add(`name ${row}`, description(row));
  return rows;
}

test('rows that are too many for memory are read again from disk, in any order, and leave no file', () => {
  const dir = tempDir();
  const rows = filled(30_000, dir);
  const inMemory = filled(30_000);
  expect(rows.digest()).toBe(inMemory.digest());
  expect(rows.repeatedNames()).toBe(0);
  for (const row of [
    0,
    29_999,
    1,
    15_000,
    2,
    29_998,
    ...Array.from({ length: 300 }, (_, at) => (at * 7919) % 30_000),
  ]) {
    const text = description(row);
    expect(rows.get(row)).toEqual(
      text === undefined ? { name: `name ${row}` } : { name: `name ${row}`, description: text },
    );
  }
  expect(readdirSync(dir)).toEqual([]);
  rows.close();
});

test('there is no row beyond the last, and none is added once the rows are named', () => {
  const rows = filled(2);
  expect(() => rows.get(2)).toThrow(RangeError);
  expect(() => rows.get(-1)).toThrow(RangeError);
  expect(() => rows.add('x'.repeat(2 ** 21), undefined)).toThrow(RangeError);
  rows.digest();
  expect(() => rows.add('x', undefined)).toThrow(RangeError);
});
