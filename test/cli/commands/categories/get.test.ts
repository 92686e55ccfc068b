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
  ['its name', ['dog'], 'Category "dog" (id 1): Canis␊familiaris\n'],
  ['its id', ['--id', '2'], 'Category "cat" (id 2)\n'],
  ['a negative id', ['--id', '-5'], 'Category "eel" (id -5)\n'],
  ['an id with a leading zero', ['--id', '03', '--json'], '{"id":3,"name":"cat"}\n'],
  ['a name with a space', ['guinea pig', '--json'], '{"id":9223372036854775807,"name":"guinea pig","color":"brown"}\n'],
  ['an id above 2^53', ['--id', '9223372036854775807'], 'Category "guinea pig" (id 9223372036854775807)\n'],
])('`categories get` finds a category by %s and prints it', async (_what, args, out) => {
  expect(await get(args)).toEqual({ code: 0, out, err: '' });
});

const LIST = 'run `petstore categories list` to see all categories';

test.each([
  [['Dog'], 'not_found', 'did you mean "dog"?', 'category "Dog" does not exist'],
  [['dgo'], 'not_found', 'did you mean "dog"?', 'category "dgo" does not exist'],
  [['2'], 'not_found', 'use --id instead of the name', 'category "2" does not exist'],
  [['horse'], 'not_found', LIST, 'category "horse" does not exist'],
  [['--id', '4'], 'not_found', LIST, 'category with id 4 does not exist'],
  [['cat'], 'ambiguous', 'use --id instead of the name', 'category "cat" exists more than once (ids 2, 3)'],
])(
  '`categories get` with the arguments %j fails with the code %s and the hint: %s',
  async (args, code, hint, message) => {
    const got = await get([...args, '--json']);
    expect(got).toMatchObject({ code: 4, out: '' });
    expect(JSON.parse(got.err)).toEqual({ error: { kind: 'rejected', message, hint, code } });
    // The text omits the code, which would look like a code of the service.
    expect((await get(args)).err).toBe(`error: ${message}\nhint: ${hint}\n`);
  },
);

test('`categories get --id` fails without a hint if the service lists the id twice', async () => {
  const { env } = await serving(() => ({ body: '[{"id":1,"name":"dog"},{"id":1,"name":"cat"}]' }));
  const { code, err } = await inProcess(['categories', 'get', '--id', '1'], { env });
  expect([code, err]).toEqual([4, 'error: category with id 1 exists more than once (ids 1, 1)\n']);
});

test('if the service sends only one page of the list, `get` prints a category on that page and fails for any other', async () => {
  const headers = { link: '</v1/categories?page=2>; rel="next"' };
  expect(await get(['dog', '--json'], headers)).toMatchObject({ code: 0, err: '' });
  const err = 'error: cannot determine whether category "rat" exists: the service sent only one page';
  expect(await get(['rat'], headers)).toMatchObject({ code: 7, err: expect.stringContaining(err) });
});
