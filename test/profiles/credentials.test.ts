// Precedence of options, environment and saved settings; a saved key is sent only to its own origin.
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Environment } from '../../src/io.ts';
import { resolveTarget } from '../../src/profiles/credentials.ts';
import type { ProfileStore, StoredProfile } from '../../src/profiles/store.ts';
import { BUILT_IN } from '../../src/profiles/store.ts';

const KEY = 'stored-key-0001';
const production = { name: 'production', url: 'https://a.example/v1', key: KEY, origin: 'https://a.example' };

function memory(profiles: readonly StoredProfile[], active = 'production'): ProfileStore {
  return {
    names: () => [...BUILT_IN, ...profiles.map(({ name }) => name).filter((name) => !BUILT_IN.includes(name))],
    get: (name) => profiles.find((profile) => profile.name === name),
    active: () => active,
    activeIfReadable: () => active,
    save: () => expect.unreachable('saved'),
    removeKey: () => expect.unreachable('removed'),
    remove: () => expect.unreachable('removed'),
    activate: () => expect.unreachable('activated'),
  };
}

const REST = {
  stateDir: () => '/state',
  runKeyCommand: async (commandLine: string, from: string) => `${commandLine}-by-${from.replace(/\W/g, '')}`,
};

function resolve(env: Environment, profile?: string, store: ProfileStore = memory([production])) {
  return resolveTarget({ env, profile, store: async () => store, ...REST });
}

test('a saved profile provides the URL and the key', async () => {
  expect(await resolve({})).toEqual({
    profile: 'production',
    baseUrl: 'https://a.example/v1',
    key: KEY,
    keySource: 'stored',
    urlSource: 'stored',
    identity: 'https://a.example/v1',
  });
});

test('PETSTORE_API_KEY and PETSTORE_BASE_URL each override only the saved key or the saved URL', async () => {
  expect(await resolve({ PETSTORE_API_KEY: 'other-key' })).toMatchObject({
    key: 'other-key',
    keySource: 'environment',
    baseUrl: 'https://a.example/v1',
    urlSource: 'stored',
  });
  expect(await resolve({ PETSTORE_BASE_URL: 'https://a.example/other/v1/' })).toMatchObject({
    key: KEY,
    baseUrl: 'https://a.example/other/v1',
    urlSource: 'environment',
  });
});

test('no profile is read if the environment provides key and URL', async () => {
  const store = (): Promise<ProfileStore> => Promise.reject(new Error('opened'));
  const env = { PETSTORE_API_KEY: 'k', PETSTORE_BASE_URL: 'https://b.example/v1' };
  const target = await resolveTarget({ env, profile: undefined, store, ...REST });
  expect(target).toMatchObject({ profile: 'production', key: 'k', baseUrl: 'https://b.example/v1' });
  const named = { ...env, PETSTORE_PROFILE: 'staging' };
  expect(await resolveTarget({ env: named, profile: undefined, store, ...REST })).toMatchObject({ profile: 'staging' });
});

test('a custom profile must exist even if the environment provides key and URL; its file is not opened', async () => {
  const unopened = { names: () => ['production', 'staging', 'mine'], get: () => expect.unreachable('opened') };
  const store = async () => unopened as unknown as ProfileStore;
  const env = { PETSTORE_API_KEY: 'k', PETSTORE_BASE_URL: 'https://b.example/v1' };
  const target = (name: string) =>
    resolveTarget({ env: { ...env, PETSTORE_PROFILE: name }, profile: undefined, store, ...REST });
  expect(await target('mine')).toMatchObject({ profile: 'mine', key: 'k' });
  await expect(target('mnie')).rejects.toMatchObject({ kind: 'usage', message: expect.stringContaining('"mnie"') });
});

test.each([
  ['https://b.example/v1'],
  ['https://a.example:8443/v1'],
  ['http://localhost/v1'],
  ['https://a.example.evil.example/v1'],
  ['https://sub.a.example/v1'],
])('a saved key is not used for the base URL %s of another origin', async (url) => {
  const attempt = resolve({ PETSTORE_BASE_URL: url });
  await expect(attempt).rejects.toMatchObject({ kind: 'auth', hint: expect.stringContaining('PETSTORE_API_KEY') });
  await expect(attempt).rejects.not.toThrow(KEY);
});

test("a saved key is not used for a URL that was edited in the profile's file", async () => {
  const store = memory([{ ...production, url: 'https://evil.example/v1' }]);
  await expect(resolve({}, undefined, store)).rejects.toMatchObject({ kind: 'auth' });
});

test('a saved key without an origin is not used, and the hint is to log in again', async () => {
  const { origin: _, ...edited } = production;
  await expect(resolve({}, undefined, memory([edited]))).rejects.toMatchObject({
    kind: 'auth',
    message: 'profile "production" does not name the host of its API key',
    hint: 'run `petstore auth login -p production`',
  });
});

test.each(['', ' ', 'a b', 'k\n', '\u201ck\u201d'])(
  'an invalid PETSTORE_API_KEY of %j is an error even if a key is saved',
  async (key) => {
    await expect(resolve({ PETSTORE_API_KEY: key })).rejects.toMatchObject({ kind: 'auth' });
  },
);

test.each(['', 'x', 'http://b.example/v1', 'https://b.example'])(
  'an invalid PETSTORE_BASE_URL of %j is an error even if a URL is saved',
  async (url) => {
    await expect(resolve({ PETSTORE_BASE_URL: url })).rejects.toMatchObject({ kind: 'usage' });
  },
);

test.each([
  '',
  '../x',
  '__proto__',
  'toString',
  'A',
  '-x',
  'a.b',
  'many-words-in-one-name-of-a-profile',
  'production ',
])('the profile name %j is rejected', async (name) => {
  await expect(resolve({}, name)).rejects.toMatchObject({ kind: 'usage', hint: expect.stringContaining('1 to 32') });
  if (name === '') return;
  const set = resolve({ PETSTORE_PROFILE: name });
  await expect(set).rejects.toMatchObject({ kind: 'usage', message: expect.stringContaining('PETSTORE_PROFILE') });
});

test('an empty PETSTORE_PROFILE counts as unset', async () => {
  const store = memory([{ ...production, name: 'farm' }], 'farm');
  expect(await resolve({ PETSTORE_PROFILE: '' }, undefined, store)).toMatchObject({ profile: 'farm' });
  const env = { PETSTORE_PROFILE: '', PETSTORE_API_KEY: 'k', PETSTORE_BASE_URL: 'https://b.example/v1' };
  expect(await resolve(env)).toMatchObject({ profile: 'production' });
});

test('the error about an unknown profile names PETSTORE_PROFILE if the name came from it', async () => {
  await expect(resolve({ PETSTORE_PROFILE: 'stagin' })).rejects.toMatchObject({
    kind: 'usage',
    message:
      'profile "stagin" from PETSTORE_PROFILE does not exist; available profiles: "production", "staging", "sandbox"',
  });
  await expect(resolve({ PETSTORE_PROFILE: 'sk_live_0123456789' })).rejects.toMatchObject({
    message: expect.stringMatching(/^the profile name from PETSTORE_PROFILE looks like an API key;/),
    hint: 'run `petstore auth login` and enter the key at the prompt',
  });
  await expect(resolve({ PETSTORE_PROFILE: 'staging' }, 'stagin')).rejects.toMatchObject({
    message: expect.stringMatching(/^profile "stagin"/),
  });
});

test('an unknown profile is an error that lists the profiles and suggests the closest', async () => {
  const store = memory([production, { name: 'farm', url: 'https://f.example/v1' }]);
  const attempt = resolve({}, 'stagin', store);
  await expect(attempt).rejects.toMatchObject({
    kind: 'usage',
    message: 'profile "stagin" does not exist; available profiles: "production", "staging", "sandbox", "farm"',
    hint: 'did you mean "staging"?',
  });
  await expect(resolve({}, 'zzzzzzzz', store)).rejects.toMatchObject({ hint: expect.not.stringContaining('did you') });
});

test('a profile without a URL or key causes an error whose hint says how to log in', async () => {
  await expect(resolve({}, 'staging')).rejects.toMatchObject({ kind: 'auth', message: expect.stringContaining('URL') });
  const store = memory([{ name: 'staging', url: 'https://s.example/v1' }]);
  await expect(resolve({}, 'staging', store)).rejects.toMatchObject({
    kind: 'auth',
    message: expect.stringContaining('no API key'),
    hint: expect.stringContaining('petstore auth login -p staging'),
  });
});

test('--profile overrides PETSTORE_PROFILE, which overrides the active profile', async () => {
  const others = ['one', 'two', 'three'].map((name) => ({ ...production, name }));
  const store = memory(others, 'three');
  expect(await resolve({ PETSTORE_PROFILE: 'two' }, 'one', store)).toMatchObject({ profile: 'one' });
  expect(await resolve({ PETSTORE_PROFILE: 'two' }, undefined, store)).toMatchObject({ profile: 'two' });
  expect(await resolve({}, undefined, store)).toMatchObject({ profile: 'three' });
});

test('the sandbox needs no login, and the environment does not override it', async () => {
  const sandbox = {
    profile: 'sandbox',
    baseUrl: '',
    keySource: 'sandbox',
    identity: `sandbox:${join('/state', 'sandbox', 'data')}`,
  };
  expect(await resolve({}, 'sandbox')).toMatchObject(sandbox);
  expect(await resolve({}, undefined, memory([], 'sandbox'))).toMatchObject(sandbox);
  const env = { PETSTORE_API_KEY: 'k', PETSTORE_BASE_URL: 'https://b.example/v1' };
  expect(await resolve(env, 'sandbox')).toMatchObject(sandbox);
});

test('--profile uses the URL and the key of the profile and nothing from the environment', async () => {
  const env = { PETSTORE_API_KEY: 'k', PETSTORE_BASE_URL: 'https://b.example/v1', PETSTORE_API_KEY_COMMAND: 'c' };
  expect(await resolve(env, 'production')).toMatchObject({ baseUrl: 'https://a.example/v1', key: KEY });
  await expect(resolve(env, 'staging')).rejects.toMatchObject({
    kind: 'auth',
    message: 'profile "staging" has no base URL',
  });
  const keyless = memory([{ name: 'staging', url: 'https://s.example/v1' }]);
  await expect(resolve(env, 'staging', keyless)).rejects.toMatchObject({
    kind: 'auth',
    message: 'profile "staging" has no API key',
    hint: 'run `petstore auth login -p staging`',
  });
  const malformed = memory([{ ...production, key: 'a b' }]);
  await expect(resolve({}, 'production', malformed)).rejects.toMatchObject({
    message: 'the API key from profile "production" contains a space, tab or line break',
    hint: 'run `petstore auth login -p production`',
  });
  // Ignored variables are not validated.
  const invalid = { PETSTORE_API_KEY: '', PETSTORE_BASE_URL: 'x' };
  expect(await resolve(invalid, 'production')).toMatchObject({ key: KEY, keySource: 'stored' });
});

test('the hint names the missing variable if the environment sets only the key or only the URL', async () => {
  const store = memory([]);
  await expect(resolve({ PETSTORE_API_KEY: 'k' }, undefined, store)).rejects.toMatchObject({
    hint: 'set PETSTORE_BASE_URL',
  });
  await expect(resolve({ PETSTORE_BASE_URL: 'https://b.example/v1' }, undefined, store)).rejects.toMatchObject({
    hint: 'set PETSTORE_API_KEY',
  });
});

test('a key command of a profile or of the environment provides the key, but that of a profile only for its origin', async () => {
  const { key: _, ...url } = production;
  const store = memory([{ ...url, keyCommand: 'pass' }]);
  expect(await resolve({}, undefined, store)).toMatchObject({ key: 'pass-by-profileproduction', keySource: 'command' });
  expect(await resolve({ PETSTORE_API_KEY_COMMAND: 'op' }, undefined, store)).toMatchObject({
    key: 'op-by-PETSTORE_API_KEY_COMMAND',
    keySource: 'command',
  });
  expect(await resolve({ PETSTORE_API_KEY_COMMAND: 'op', PETSTORE_API_KEY: 'k' })).toMatchObject({ key: 'k' });
  const elsewhere = resolve({ PETSTORE_BASE_URL: 'https://b.example/v1' }, undefined, store);
  await expect(elsewhere).rejects.toMatchObject({ kind: 'auth', hint: expect.stringContaining('PETSTORE_API_KEY') });
});
