import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { createClient, PetstoreError } from '../src/client.ts';
import { systemClock } from '../src/clock.ts';
import { startSandbox } from '../src/sandbox/server.ts';
import { place } from './support/processes.ts';
import { petstore } from './support/program.ts';
import { tempDir } from './support/temp-dir.ts';

const KEY = 'sandbox_client_test';
const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function service(count = 60): Promise<{ baseUrl: string; stateDir: string }> {
  const dir = tempDir();
  const limits = [{ count, windowMs: 3_600_000 }];
  const sandbox = await startSandbox({ dataFile: join(dir, 'data'), clock: systemClock, port: 0, keys: [KEY], limits });
  closing.push(sandbox.close);
  return { baseUrl: sandbox.baseUrl, stateDir: join(dir, 'state') };
}

function open(options: { baseUrl: string; stateDir: string; apiKey?: string; maxWaitMs?: number; timeoutMs?: number }) {
  const client = createClient({ apiKey: KEY, ...options });
  closing.push(client.close);
  return client;
}

test('the client creates and lists', async () => {
  const client = open(await service());
  expect(await client.categories.create({ name: 'dog', description: 'Canis' })).toEqual({
    id: 1,
    name: 'dog',
    description: 'Canis',
  });
  expect(await client.categories.list()).toEqual([{ id: 1, name: 'dog', description: 'Canis' }]);
  const { window, longWindow } = client.quota();
  expect(window ?? longWindow).toMatchObject({ limit: 60, remaining: 58 });
});

test('a wrong key is an auth error', async () => {
  const client = open({ ...(await service()), apiKey: 'sandbox_another_key' });
  await expect(client.categories.list()).rejects.toMatchObject({ kind: 'auth', status: 401 });
});

test('an exhausted rate limit fails immediately with the time to try again, and nothing is sent', async () => {
  const client = open({ ...(await service(2)), maxWaitMs: 0 });
  await client.categories.list();
  await client.categories.list();
  const refused = await client.categories.list().catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(PetstoreError);
  expect((refused as PetstoreError).kind).toBe('rate_limited');
  expect((refused as PetstoreError).retryAt).toBeGreaterThan(Date.now());
});

test('the client shares the quota with the command line', async () => {
  const where = await service(2);
  const client = open({ ...where, maxWaitMs: 0 });
  await client.categories.list();
  await client.categories.list();
  const at = place({ PETSTORE_BASE_URL: where.baseUrl, PETSTORE_API_KEY: KEY, PETSTORE_STATE_DIR: where.stateDir });
  const result = await petstore(at, ['categories', 'list', '--max-wait', '0']);
  expect({ code: result.code, out: result.out }).toEqual({ code: 5, out: '' });
});

test('a timeout that is not a number is a RangeError', () => {
  const options = { baseUrl: 'https://pets.example/v1', apiKey: KEY, timeoutMs: Number.NaN };
  expect(() => createClient(options)).toThrow(RangeError);
});

test.each([1000 / 3, 3e9, 1e13, Number.MAX_VALUE])('a timeout of %d ms works', async (timeoutMs) => {
  const client = open({ ...(await service()), timeoutMs });
  expect(await client.categories.list()).toEqual([]);
});

test.each([
  ['no options', undefined, 'usage', 'baseUrl is invalid: it is missing'],
  ['null', null, 'usage', 'it is missing'],
  ['no address', { apiKey: KEY }, 'usage', 'it is missing'],
  [
    'a URL that is not a string',
    { baseUrl: new URL('https://pets.example/v1'), apiKey: KEY },
    'usage',
    'is not a string',
  ],
  ['http', { baseUrl: 'http://pets.example/v1', apiKey: KEY }, 'usage', 'unencrypted'],
  ['a key with a space', { baseUrl: 'https://pets.example/v1', apiKey: 'a b' }, 'auth', 'a space'],
  ['no key', { baseUrl: 'https://pets.example/v1' }, 'auth', 'the API key from apiKey is missing'],
  ['an undefined key', { baseUrl: 'https://pets.example/v1', apiKey: undefined }, 'auth', 'is missing'],
  ['a null key', { baseUrl: 'https://pets.example/v1', apiKey: null }, 'auth', 'is missing'],
  ['an empty key', { baseUrl: 'https://pets.example/v1', apiKey: '' }, 'auth', 'is empty'],
  ['a key that is not a string', { baseUrl: 'https://pets.example/v1', apiKey: 12_345_678 }, 'auth', 'is not a string'],
])('%s is a PetstoreError', (_what, options, kind, message) => {
  const open = (): unknown => createClient(options as Parameters<typeof createClient>[0]);
  expect(open).toThrow(PetstoreError);
  expect(open).toThrow(expect.objectContaining({ kind, message: expect.stringContaining(message) }));
});
