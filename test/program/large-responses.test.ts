// The size limits of responses: 16 MiB for a read, 1 MiB for other requests.
import { expect, test } from 'vitest';
import { startHttpFake } from '../support/http-fake.ts';
import { place } from '../support/processes.ts';
import { petstore } from '../support/program.ts';

const MIB = 1024 * 1024;

test.each([
  ['17 MiB of brackets', () => Buffer.alloc(17 * MIB, '[')],
  ['15 MiB of brackets', () => Buffer.alloc(15 * MIB, '[')],
  ['40 MiB of spaces', () => Buffer.alloc(40 * MIB, ' ')],
])('a list whose response is %s exits with 7', async (_what, body) => {
  const service = await startHttpFake(() => ({ body: body() }));
  const at = place({ PETSTORE_BASE_URL: service.url, PETSTORE_API_KEY: 'k_0123456789abcdef' });
  const { code, err } = await petstore(at, ['categories', 'list', '--json', '--max-retries', '0']);
  service.close();
  expect([code, JSON.parse(err).error.kind]).toEqual([7, 'service']);
});

test('a create with a response of 17 MiB exits with 8, or with 4 after status 400, in a heap of 64 MiB', async () => {
  const service = await startHttpFake(({ body }) => ({
    status: body.includes('cat') ? 400 : 201,
    body: Buffer.alloc(17 * MIB, '1'),
  }));
  const env = { PETSTORE_BASE_URL: service.url, PETSTORE_API_KEY: 'k_0123456789abcdef' };
  const at = place({ ...env, NODE_OPTIONS: '--max-old-space-size=64' });
  expect((await petstore(at, ['categories', 'create', '--name', 'dog'])).code).toBe(8);
  expect((await petstore(at, ['categories', 'create', '--name', 'cat'])).code).toBe(4);
  service.close();
});
