// The completeness of a list of categories.
import { expect, test } from 'vitest';
import { fetchList, KnownCategories } from '../../src/import/list.ts';
import type { Category } from '../../src/public-types.ts';
import { FakeService } from './fake-service.ts';

function knownOf(...ids: Category['id'][]): KnownCategories {
  const known = new KnownCategories();
  for (const id of ids) known.add({ id, name: 'x' }, false);
  return known;
}

test('ids of 19 digits are compared exactly, and a cached list is incomplete and makes no category known', async () => {
  const it = new FakeService();
  const dog = { id: 9223372036854775806n, name: 'dog' };
  it.items.push({ ...dog, sent: 'dog', by: 'before' });
  const options = { categories: it.client().api, pause: async () => undefined };
  expect(await fetchList(options, knownOf(9223372036854775807n))).toMatchObject({ isComplete: false });
  it.script.isCached = () => true;
  const known = knownOf(7);
  expect(await fetchList(options, known)).toMatchObject({ isComplete: false, missing: [] });
  expect([known.has(dog), known.missingFrom([])]).toEqual([false, [undefined]]);
});
