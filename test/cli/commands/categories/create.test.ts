// `categories create`: --if-missing, changed names, unknown outcomes, output errors and formats.
import { expect, test } from 'vitest';
import { run } from '../../../../src/cli/program.ts';
import { PetstoreError } from '../../../../src/errors.ts';
import { tempDir } from '../../../support/temp-dir.ts';
import { inProcess, serving, world } from '../../../support/world.ts';

const create = (dir: string, ...args: string[]) =>
  inProcess(['categories', 'create', '-p', 'sandbox', '-q', '--name', 'dog', ...args], { dir });

test('`create --if-missing` creates a category once, and warns about a different description', async () => {
  const dir = tempDir();
  const ifMissing = (...args: string[]) => create(dir, '--if-missing', '--description', ...args);
  expect(await ifMissing('pet')).toEqual({ code: 0, out: 'Created category "dog" (id 1)\n', err: '' });
  expect(await ifMissing('pet')).toEqual({ code: 0, out: 'Category "dog" already exists (id 1)\n', err: '' });
  expect((await create(dir, '--if-missing')).err).toBe('');
  const different = await ifMissing('other', '--json');
  expect(different).toMatchObject({ code: 0, out: '{"id":1,"name":"dog","description":"pet"}\n' });
  const message = 'existing category "dog" has the description "pet"; the given description was ignored';
  expect(JSON.parse(different.err)).toEqual({ warning: { message } });
  await create(dir, '--name', 'cat');
  const none = await ifMissing('pet', '--name', 'cat');
  expect(none.err).toBe('warning: existing category "cat" has no description; the given description was ignored\n');
});

test.each([
  ['comes from a cache', { age: '30' }, /from a cache\nhint: try again later\n$/],
  ['is one page of several', { link: '<?page=2>; rel="next"' }, /only one page\n$/],
])('`create --if-missing` creates nothing if the list %s and lacks the category', async (_what, headers, reason) => {
  const { env, requests } = await serving(() => ({ body: [{ id: 1, name: 'cat' }], headers }));
  const ifMissing = (name: string) =>
    inProcess(['categories', 'create', '--name', name, '--if-missing', '-q'], { env });
  const { code, out, err } = await ifMissing('dog');
  expect([code, out]).toEqual([7, '']);
  expect(err).toMatch(/^error: cannot determine whether category "dog" exists: /);
  expect(err).toMatch(reason);
  expect(await ifMissing('cat')).toMatchObject({ code: 0, out: 'Category "cat" already exists (id 1)\n' });
  const fresh = { method: 'GET', headers: { 'cache-control': 'no-cache' } };
  expect(requests).toMatchObject([fresh, fresh]);
});

test('a create whose response has another name prints one warning that shows both names', async () => {
  const { env } = await serving(() => ({ status: 200, body: { id: 1, name: 'Dog\u001b' } }));
  const { code, out, err } = await inProcess(['categories', 'create', '--name', 'dog', '-q'], { env });
  const warning = 'warning: the service changed the name "dog" to "Dog␛"\n';
  expect({ code, out, err }).toEqual({ code: 0, out: 'Created category "Dog␛" (id 1)\n', err: warning });
});

test.each([
  ['a 201 that is not JSON', 201, '<html>'],
  ['a 201 without a category', 201, { id: 1 }],
  ['a 200 without a body', 200, ''],
  ['a 202 with a category', 202, { id: 1, name: 'dog' }],
])('the outcome of a create is unknown after %s', async (_what, status, body) => {
  const { env, requests } = await serving(() => ({ status, body }));
  const { code, out, err } = await inProcess(['categories', 'create', '--name', 'dog', '--json'], { env });
  expect([code, out]).toEqual([8, '']);
  expect(JSON.parse(err).error).toMatchObject({ kind: 'unknown_outcome', status });
  expect(requests).toHaveLength(1);
});

test('an output error of a create states that the category was created, unless it already existed', async () => {
  const dir = tempDir();
  const write = () => Promise.reject(new PetstoreError('storage', 'cannot write the output (ENOSPC)'));
  for (const created of ['; category "dog" was created (id 1)', '']) {
    const context = world(['categories', 'create', '-p', 'sandbox', '--name', 'dog', '--if-missing', '--json'], {
      dir,
    });
    expect(await run({ ...context, stdout: { ...context.stdout, write } })).toBe(9);
    const message = `cannot write the output (ENOSPC)${created}`;
    expect(JSON.parse(context.stderr.text()).error.message).toBe(message);
  }
});

test('a create is not sent if its result cannot be printed in the requested format', async () => {
  const dir = tempDir();
  const { code, err } = await create(dir, '--format', 'csv');
  expect([code, err]).toEqual([2, expect.stringContaining('--format csv is available only for')]);
  expect((await create(dir, '--if-missing')).out).toBe('Created category "dog" (id 1)\n');
});
