// What a list says about rows, and whether it is complete.
import { expect, test } from 'vitest';
import type { Category } from '../../src/api/types.ts';
import { fetchList, firstList, nearest, tooOften } from '../../src/import/list.ts';
import { FakeService, named } from './fake-service.ts';

const list = (...names: string[]): Category[] => names.map((name, at) => ({ id: at + 1, name }));

function service(...names: string[]) {
  const it = new FakeService();
  for (const name of names) it.add({ name });
  const waits: number[] = [];
  const pause = async (ms: number): Promise<void> => void waits.push(ms);
  return { it, waits, options: { categories: it.client().api, pause } };
}

test('a list that lacks a known category is fetched again after 2 and 4 s, and its categories become known', async () => {
  const { it, waits, options } = service('dog', 'cat');
  const known = new Set(['2', '7']);
  expect(await fetchList(options, known)).toMatchObject({ isComplete: false, lacking: ['7'] });
  expect([waits, [...known]]).toEqual([
    [2000, 4000],
    ['2', '7', '1'],
  ]);
  it.script.show = (all, at) => (at === 3 ? [] : all);
  expect(await fetchList(options, new Set(['1']))).toMatchObject({ isComplete: true, lacking: [] });
  expect(it.lists).toBe(5);
});

test('a cached list is incomplete, and what it shows need not exist', async () => {
  const { it, options } = service('dog');
  it.script.isCached = (at) => at < 1;
  expect(await firstList(options)).toEqual([{ id: 1, name: 'dog' }]);
  it.script.isCached = () => true;
  const known = new Set(['7']);
  expect(await fetchList(options, known)).toMatchObject({ isComplete: false, lacking: [] });
  expect([...known]).toEqual(['7']);
  await expect(firstList(options)).rejects.toMatchObject({ exitCode: 7, message: expect.stringContaining('cache') });
});

test('ids of nineteen digits are compared exactly', async () => {
  const { it, options } = service();
  it.items.push({ id: 9223372036854775806n, name: 'dog', sent: 'dog', by: 'before' });
  expect(await fetchList(options, new Set(['9223372036854775807']))).toMatchObject({ isComplete: false });
});

test('names that a list shows more often than the file and the first list are named once', () => {
  const shown = list('dog', 'dog', 'cat', 'cat', 'cow', 'cow', 'ant', 'ant');
  const rows = named('dog', 'cat', 'cat', 'cow', 'ant');
  expect(tooOften(['dog', 'dog', 'cat', 'cow'], shown, rows, list('cow', 'cow'))).toEqual(['dog']);
});

test.each([
  ['a very long name', 'a very lo'],
  ['Bär', 'Bar'],
  ['Fish & Chips', 'fish &amp; chips'],
  ['🐟 fish', '? fish'],
])('the category suggested for the unknown row "%s" is "%s", not the first one', (sent, name) => {
  expect(nearest(sent, list('dog', name))).toEqual({ id: 2, name });
});

test('the category suggested for an unknown row is the first if none has a similar name', () => {
  expect([nearest('🐟', list('dog', 'cat'))?.id, nearest('dog', [])]).toEqual([1, undefined]);
});
