// `categories get`: one category by name or id, and the errors if none or several match.
import { expect, test } from 'vitest';
import { inProcess, serving } from '../../../support/world.ts';

const BODY = `[{"id":1,"name":"dog","description":"Canis\\nfamiliaris"},{"id":2,"name":"cat"},{"id":3,"name":"cat"},
  {"id":9223372036854775807,"name":"guinea pig","color":"brown"},{"id":-5,"name":"eel"}]`;

async function get(args: readonly string[], headers: Record<string, string> = {}) {
  const { env } = await serving(() => ({ body: BODY, headers }));
  return inProcess(['categories', 'get', ...args], { env });
}

test.each([
  [['dog'], 'Category "dog" (id 1): Canis␊familiaris\n'],
  [['--id', '2'], 'Category "cat" (id 2)\n'],
  [['--id', '-5'], 'Category "eel" (id -5)\n'],
  [['--id', '03', '--json'], '{"id":3,"name":"cat"}\n'],
  [['guinea pig', '--json'], '{"id":9223372036854775807,"name":"guinea pig","color":"brown"}\n'],
  [['--id', '9223372036854775807'], 'Category "guinea pig" (id 9223372036854775807)\n'],
])('`categories get` with the arguments %j prints %j', async (args, out) => {
  expect(await get(args)).toEqual({ code: 0, out, err: '' });
});

const LIST = 'run `petstore categories list` to see all categories';

test.each([
  [['Dog'], 'not_found', 'category "Dog" does not exist', 'did you mean "dog"?'],
  [['dgo'], 'not_found', 'category "dgo" does not exist', 'did you mean "dog"?'],
  [['2'], 'not_found', 'category "2" does not exist', 'use --id instead of the name'],
  [['horse'], 'not_found', 'category "horse" does not exist', LIST],
  [['--id', '4'], 'not_found', 'category with id 4 does not exist', LIST],
  [['cat'], 'ambiguous', 'category "cat" exists more than once (ids 2, 3)', 'use --id instead of the name'],
])('`categories get` with the arguments %j is rejected with the code %s', async (args, code, message, hint) => {
  const got = await get([...args, '--json']);
  expect(got).toMatchObject({ code: 4, out: '' });
  expect(JSON.parse(got.err)).toEqual({ error: { kind: 'rejected', message, hint, code } });
  // In brackets, a code would look like the service's.
  expect((await get(args)).err).toBe(`error: ${message}\nhint: ${hint}\n`);
});

test('`get` with only one page of the list prints a category on this page, and fails for another category', async () => {
  const headers = { link: '</v1/categories?page=2>; rel="next"' };
  expect(await get(['dog', '--json'], headers)).toMatchObject({ code: 0, err: '' });
  const err = 'error: cannot determine whether category "rat" exists: the service sent only one page';
  expect(await get(['rat'], headers)).toMatchObject({ code: 7, err: expect.stringContaining(err) });
});
