// `categories list`: --search and --sort, which the service does not support, and formats.
import { expect, test } from 'vitest';
import { filterAndSort } from '../../../src/commands/categories/list.ts';
import { inProcess } from '../../support/world.ts';

const categories = [
  { id: 9223372036854775807n, name: 'élan', description: 'moose' },
  { id: 2, name: 'Zebra' },
  { id: 10, name: 'cat', description: 'Felis CATUS' },
  { id: 1, name: 'Elephant' },
];
const names = (search?: string, sort?: 'id' | 'name'): string[] =>
  filterAndSort(categories, { ...(search && { search }), ...(sort && { sort }) }).map(({ name }) => name);

test("a list without options keeps the service's order", () => {
  expect(names()).toEqual(['élan', 'Zebra', 'cat', 'Elephant']);
});

test('`list --search` ignores case and Unicode composition in name and description', () => {
  expect(names('CAT')).toEqual(['cat']);
  expect(names('catus')).toEqual(['cat']);
  expect(names('e\u0301LAN')).toEqual(['élan']);
  expect(names('dog')).toEqual([]);
});

test('`list --sort name` uses English collation', () => {
  expect(names(undefined, 'name')).toEqual(['cat', 'élan', 'Elephant', 'Zebra']);
});

test('`list --sort id` compares ids as numbers, even above 2^53', () => {
  expect(names(undefined, 'id')).toEqual(['Elephant', 'Zebra', 'cat', 'élan']);
});

test('filterAndSort does not change its argument', () => {
  const before = [...categories];
  filterAndSort(categories, { sort: 'id' });
  expect(categories).toEqual(before);
});

test('an empty list prints nothing on stdout, and "No categories found" on stderr', async () => {
  const list = ['categories', 'list', '-p', 'sandbox'];
  const { code, out, err } = await inProcess(list);
  expect({ code, out }).toEqual({ code: 0, out: '' });
  expect(err).toMatch(/^No categories found\nquota: /);
  expect(await inProcess([...list, '--json'])).toEqual({ code: 0, out: '[]\n', err: '' });
  expect(await inProcess([...list, '--quiet'])).toEqual({ code: 0, out: '', err: '' });
});

test.each([
  [['--format', 'csv', '-p', 'sandbox', 'categories', 'list']],
  [['categories', '--format=csv', 'list', '-p', 'sandbox']],
  [['-p', 'sandbox', 'categories', 'list', '--format', 'csv']],
])('`petstore %j` prints CSV', async (args) => {
  expect(await inProcess(args)).toMatchObject({ code: 0, out: 'id,name,description\n' });
});
