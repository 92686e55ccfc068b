// `categories create`: --if-missing, formats and output errors.
import { expect, onTestFinished, test } from 'vitest';
import { PetstoreError } from '../../../src/errors.ts';
import { run } from '../../../src/program.ts';
import { startHttpFake } from '../../support/http-fake.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { inProcess, world } from '../../support/world.ts';

const create = (dir: string, ...args: string[]) =>
  inProcess(['categories', 'create', '-p', 'sandbox', '-q', '--name', 'dog', ...args], { dir });

test('`create --if-missing` creates a category once and reports a different description', async () => {
  const dir = tempDir();
  expect(await create(dir, '--if-missing', '--description', 'pet')).toMatchObject({
    code: 0,
    out: 'Created category "dog" (id 1)\n',
    err: '',
  });
  expect(await create(dir, '--if-missing', '--description', 'pet')).toEqual({
    code: 0,
    out: 'Category "dog" already exists (id 1)\n',
    err: '',
  });
  const different = await create(dir, '--if-missing', '--description', 'other', '--json');
  expect(different).toMatchObject({ code: 0, out: '{"id":1,"name":"dog","description":"pet"}\n' });
  const message = 'category "dog" exists with another description; --description was ignored';
  expect(JSON.parse(different.err)).toEqual({ warning: { message } });
});

test('`create --if-missing` creates nothing if the list comes from a cache and lacks the category', async () => {
  const service = await startHttpFake(() => ({ body: [{ id: 1, name: 'cat' }], headers: { age: '30' } }));
  onTestFinished(service.close);
  const env = { PETSTORE_BASE_URL: service.url, PETSTORE_API_KEY: 'sk_test_Abcdef0123456789' };
  const ifMissing = (name: string) =>
    inProcess(['categories', 'create', '--name', name, '--if-missing', '-q'], { dir: tempDir(), env });
  expect(await ifMissing('dog')).toEqual({
    code: 7,
    out: '',
    err: 'error: cannot tell whether category "dog" exists: the list of categories comes from a cache\nhint: run the same command again later\n',
  });
  expect(await ifMissing('cat')).toMatchObject({ code: 0, out: 'Category "cat" already exists (id 1)\n' });
  expect(service.requests).toMatchObject(
    ['dog', 'cat'].map(() => ({ method: 'GET', headers: { 'cache-control': 'no-cache' } })),
  );
});

test('an error while the result of a create is printed states that the category was created', async () => {
  const context = world(['categories', 'create', '-p', 'sandbox', '-q', '--name', 'dog', '--json']);
  const stdout = {
    ...context.stdout,
    write: () => Promise.reject(new PetstoreError('storage', 'cannot write the output (ENOSPC)')),
  };
  expect(await run({ ...context, stdout })).toBe(9);
  expect(JSON.parse(context.stderr.text()).error.message).toBe(
    'cannot write the output (ENOSPC); category "dog" was created (id 1)',
  );
});

test('a create is not sent if its result cannot be printed in the format', async () => {
  const rejected = await create(tempDir(), '--format', 'csv');
  expect(rejected).toMatchObject({
    code: 2,
    out: '',
    err: expect.stringContaining('--format csv is available only for'),
  });
});
