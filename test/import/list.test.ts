// The completeness of a list of categories, and the matches suggested for unknown rows.
import { expect, test, vi } from 'vitest';
import type { Category } from '../../src/api/types.ts';
import { fetchList, possibleMatchFinder } from '../../src/import/list.ts';
import { FakeService } from './fake-service.ts';

const list = (...names: string[]): Category[] => names.map((name, at) => ({ id: at + 1, name }));

test('ids of nineteen digits are compared exactly, and a cached list does not count as seen', async () => {
  const it = new FakeService();
  it.items.push({ id: 9223372036854775806n, name: 'dog', sent: 'dog', by: 'before' });
  const options = { categories: it.client().api, pause: async () => undefined };
  expect(await fetchList(options, new Set(['9223372036854775807']))).toMatchObject({ isComplete: false });
  it.script.isCached = () => true;
  const seenKeys = new Set(['7']);
  expect(await fetchList(options, seenKeys)).toMatchObject({ isComplete: false, missingKeys: [], seenKeys });
});

test.each([
  ['a very long name', 'a very lo'],
  ['Bär', 'Bar'],
  ['Fish & Chips', 'fish &amp; chips'],
  ['🐟 fish', '? fish'],
])('the category suggested for the unknown row "%s" is "%s", not the first category', (sent, name) => {
  expect(possibleMatchFinder(list('dog', name))(sent)).toEqual({ id: 2, name });
});

test('the category suggested for an unknown row is the first if none has a similar name', () => {
  expect([possibleMatchFinder(list('dog', 'cat'))('🐟')?.id, possibleMatchFinder([])('dog')]).toEqual([1, undefined]);
});

test('each name of a list is folded once, however many rows are unknown', () => {
  const read = vi.fn(() => 'cow');
  const nearest = possibleMatchFinder([Object.defineProperty({ id: 3, name: '' }, 'name', { get: read })]);
  for (let row = 0; row < 100; row++) nearest('cow');
  expect(read.mock.calls.length).toBeLessThan(3);
});
