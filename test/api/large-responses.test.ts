// Hostile responses need little memory: the built program runs with a small heap and must not exceed it.
import { expect, test } from 'vitest';
import { startHttpFake } from '../support/http-fake.ts';
import { place } from '../support/processes.ts';
import { petstore } from '../support/program.ts';

const SIZE = 31 * 1024 * 1024;

function filled(item: string, open = '[', close = ']'): Buffer {
  return Buffer.from(`${open}${`${item},`.repeat(SIZE / (item.length + 1))}${item}${close}`);
}

test.each<[string, () => Buffer]>([
  ['only brackets', () => Buffer.alloc(SIZE, '[')],
  ['empty objects', () => filled('{}')],
  ['a category with millions of values', () => filled('1.0', '[{"id":1,"name":"dog","more":[', ']}]')],
  ['more categories than are supported', () => filled('{"id":1,"name":"dog"}')],
  ['one endless name', () => Buffer.from(`[{"id":1,"name":"${'é'.repeat(SIZE / 2)}"}]`)],
])('a list of %s is exit 7', async (_what, body) => {
  const service = await startHttpFake(() => ({ body: body() }));
  const env = { PETSTORE_BASE_URL: service.url, PETSTORE_API_KEY: 'k_0123456789abcdef' };
  const at = place({ ...env, NODE_OPTIONS: '--max-old-space-size=64' });
  const { code, err } = await petstore(at, ['categories', 'list', '--json', '--max-retries', '0']);
  service.close();
  expect([code, JSON.parse(err).error.kind]).toEqual([7, 'service']);
});

test('a create with a response of 31 MiB is exit 8, a rejected one exit 4', async () => {
  const service = await startHttpFake(({ body }) => ({ status: body.includes('cat') ? 400 : 201, body: filled('1') }));
  const env = { PETSTORE_BASE_URL: service.url, PETSTORE_API_KEY: 'k_0123456789abcdef' };
  const at = place({ ...env, NODE_OPTIONS: '--max-old-space-size=64' });
  expect((await petstore(at, ['categories', 'create', '--name', 'dog'])).code).toBe(8);
  expect((await petstore(at, ['categories', 'create', '--name', 'cat'])).code).toBe(4);
  service.close();
});
