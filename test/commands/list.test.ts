// Search and order of `categories list`, which the service does not offer.
import { expect, test } from 'vitest';
import { filterAndSort } from '../../src/commands/categories/list.ts';

const categories = [
  { id: 9223372036854775807n, name: 'élan', description: 'moose' },
  { id: 2, name: 'Zebra' },
  { id: 10, name: 'cat', description: 'Felis CATUS' },
  { id: 1, name: 'Elephant' },
];
const names = (search?: string, sort?: 'id' | 'name'): string[] =>
  filterAndSort(categories, { search, sort }).map(({ name }) => name);

test('nothing asked for: as the service lists them', () => {
  expect(names()).toEqual(['élan', 'Zebra', 'cat', 'Elephant']);
});

test('search finds any case, in name and description, composed or not', () => {
  expect(names('CAT')).toEqual(['cat']);
  expect(names('catus')).toEqual(['cat']);
  expect(names('e\u0301LAN')).toEqual(['élan']);
  expect(names('dog')).toEqual([]);
});

test('names are sorted as a reader of English does', () => {
  expect(names(undefined, 'name')).toEqual(['cat', 'élan', 'Elephant', 'Zebra']);
});

test('ids are sorted as numbers, also beyond 2^53', () => {
  expect(names(undefined, 'id')).toEqual(['Elephant', 'Zebra', 'cat', 'élan']);
});

test('the list that came in stays as it was', () => {
  const before = [...categories];
  filterAndSort(categories, { search: undefined, sort: 'id' });
  expect(categories).toEqual(before);
});
