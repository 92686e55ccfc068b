// `startSandbox`, the library's sandbox.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { readSettings } from '../../src/sandbox/settings.ts';
import type { SandboxOptions } from '../../src/sandbox/start.ts';
import { startSandbox } from '../../src/sandbox/start.ts';
import { openClient } from '../support/client.ts';
import { tempDir } from '../support/temp-dir.ts';

async function start(options?: SandboxOptions) {
  const sandbox = await startSandbox(options);
  onTestFinished(sandbox.close);
  const client = openClient({ baseUrl: sandbox.url, apiKey: sandbox.key, stateDir: tempDir() });
  return { ...sandbox, ...client.categories };
}

test('sandboxes in memory share no data, and a sandbox with a data file keeps its data', async () => {
  const file = join(tempDir(), 'pets');
  const listedAfterCreate = async (data?: string): Promise<number> => {
    const { create, list, close } = await start({ data });
    await create({ name: 'dog' });
    const { length } = await list();
    await close();
    return length;
  };
  expect([await listedAfterCreate(), await listedAfterCreate()]).toEqual([1, 1]);
  expect([await listedAfterCreate(file), await listedAfterCreate(file)]).toEqual([1, 2]);
});

test('the options `keys`, `limits`, `plan`, `faults` and `retryAfter` of `startSandbox` take effect', async () => {
  const get = async (url: string, key: string): Promise<unknown[]> => {
    const { status, headers } = await fetch(`${url}/categories`, { headers: { authorization: `Bearer ${key}` } });
    return [status, headers.get('x-ratelimit-limit'), headers.get('retry-after')];
  };
  const custom = await start({ keys: ['sandbox_alice_0001', 'sandbox_bobby_0001'], limits: ['7/1h'] });
  expect(custom.key).toBe('sandbox_alice_0001');
  expect(await get(custom.url, 'sandbox_bobby_0001')).toEqual([200, '7', null]);
  const pro = await start({ plan: 'pro', faults: ['503'], seed: 1 });
  expect(await get(pro.url, pro.key)).toEqual([503, '300', null]);
  const dated = await start({ limits: ['1/1h'], retryAfter: 'date' });
  expect(await get(dated.url, dated.key)).toEqual([200, '1', null]);
  expect(await get(dated.url, dated.key)).toEqual([429, '1', expect.stringMatching(/ GMT$/)]);
});

test.each([
  ['an unknown option', { prot: 1 }, 'unknown option "prot" for startSandbox'],
  ['options that are a string', 'pro', 'the options of startSandbox must be an object'],
  ['a seed below 0', { seed: -1 }, 'invalid number "-1" for seed'],
  ['an unknown plan', { plan: 'custom' }, 'invalid value "custom" for plan'],
  ['an empty key', { keys: [''] }, 'keys is empty'],
  ['a key with a space', { keys: ['a', 'a b'] }, 'keys must be printable ASCII without spaces'],
  ['keys that are a string', { keys: 'sandbox_alice_0001' }, 'keys must be an array of strings'],
  ['limits that are numbers', { limits: [60] }, 'limits must be an array of strings'],
  ['a seed of 2^32', { seed: 2 ** 32 }, 'invalid number "4294967296" for seed'],
  ['an empty plan combined with limits', { plan: '', limits: ['1/1m'] }, 'plan and limits cannot be combined'],
  ['an unknown format of Retry-After', { retryAfter: 'ms' }, 'invalid value "ms" for retryAfter'],
  ['a data file with a NUL character', { data: 'a\0b' }, 'data must be a path'],
])('`startSandbox` rejects %s as a usage error', async (_what, options, message) => {
  const error = { name: 'PetstoreError', kind: 'usage', message };
  await expect(startSandbox(options as SandboxOptions)).rejects.toMatchObject(error);
});

test('a sandbox accepts port 65535 and any 32-bit seed, chooses a random seed by default, and ignores repeated keys', () => {
  const largest = readSettings({ port: 65_535, seed: 2 ** 32 - 1, keys: ['a', 'a', 'b'] }, String);
  expect(largest).toMatchObject({ port: 65_535, seed: 2 ** 32 - 1, keys: ['a', 'b'] });
  expect(readSettings({ seed: 0 }, String).seed).toBe(0);
  expect(readSettings({}, String).seed).not.toBe(readSettings({}, String).seed);
});

test('`startSandbox` rejects a busy port as a usage error, and frees its own port after a storage error', async () => {
  const { url, close } = await start();
  const port = Number(new URL(url).port);
  const busy = { kind: 'usage', message: `port ${port} is in use`, hint: 'use port 0 to choose a free port' };
  await expect(startSandbox({ port })).rejects.toMatchObject(busy);
  await close();
  const file = join(tempDir(), 'file');
  writeFileSync(file, '');
  const message = `cannot create "${join(file, 'pets')}" (not a directory)`;
  const hint = 'use data with a path that you can write to';
  const unusable = startSandbox({ port, data: join(file, 'pets') });
  await expect(unusable).rejects.toMatchObject({ kind: 'storage', message, hint });
  await start({ port });
});
