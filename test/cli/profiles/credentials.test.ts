// Precedence of options, environment and saved settings; a saved key is sent only to its own origin.
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { withHint } from '../../../src/cli/hints.ts';
import type { ProfileStore } from '../../../src/cli/profiles/conf-store.ts';
import { openConfStore } from '../../../src/cli/profiles/conf-store.ts';
import { readCredentialRequest, resolveCredentials } from '../../../src/cli/profiles/credentials.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { world } from '../../support/world.ts';

const KEY = 'stored-key-0001';
const printing = (key: string): string => `"${process.execPath}" -p '"${key}"'`;
const own = { url: 'https://a.example/v1', key: KEY, origin: 'https://a.example' };
const { key: _, ...keyless } = own;
const PROFILES = {
  production: own,
  farm: { ...own, url: 'https://a.example/farm/v1' },
  command: { ...keyless, keyCommand: printing('k-1') },
  keyless: { url: 'https://a.example/v1' },
  malformed: { ...own, key: 'a b' },
  edited: { ...own, url: 'https://evil.example/v1' },
  'no-origin': { url: own.url, key: KEY },
};

function saved(active?: string): ProfileStore {
  const store = openConfStore(join(tempDir(), 'config'));
  for (const [name, profile] of Object.entries(PROFILES)) store.save(name, profile);
  if (active !== undefined) store.activate(active);
  return store;
}

const all = saved();

function resolve(env: Record<string, string>, profile?: string, store: ProfileStore = all) {
  const context = world([], { env: { PETSTORE_STATE_DIR: '/state', ...env } });
  return resolveCredentials(context, readCredentialRequest(context.env, profile), async () => store);
}

const URL_B = { PETSTORE_BASE_URL: 'https://b.example/v1' };
const BOTH = { ...URL_B, PETSTORE_API_KEY: 'k' };
const DATA = join('/state', 'sandbox', 'categories');
const SANDBOX = { profile: 'sandbox', baseUrl: `sandbox:${DATA}`, keySource: 'sandbox' };
const SAVED = { profile: 'production', baseUrl: own.url, key: KEY, keySource: 'stored', urlSource: 'stored' };

test.each([
  [{}, SAVED],
  // The environment overrides the saved base URL and the saved key, each by itself.
  [{ PETSTORE_API_KEY: 'k' }, { key: 'k', keySource: 'environment', urlSource: 'stored' }],
  [
    { PETSTORE_BASE_URL: 'https://a.example/other/v1/' },
    { key: KEY, keySource: 'stored', baseUrl: 'https://a.example/other/v1', urlSource: 'environment' },
  ],
  [BOTH, { profile: 'production', key: 'k', baseUrl: 'https://b.example/v1' }],
  [{ PETSTORE_PROFILE: '' }, { profile: 'production' }],
  [{ PETSTORE_API_KEY_COMMAND: printing('k-2') }, { key: 'k-2', keySource: 'command' }],
  [{ PETSTORE_API_KEY_COMMAND: 'op', PETSTORE_API_KEY: 'k' }, { key: 'k' }],
  // The sandbox needs no login, but the environment overrides it.
  [{ PETSTORE_PROFILE: 'sandbox' }, SANDBOX],
  [
    { ...BOTH, PETSTORE_PROFILE: 'sandbox' },
    { key: 'k', baseUrl: URL_B.PETSTORE_BASE_URL },
  ],
])('without `--profile`, the environment %j results in credentials with %j', async (env, credentials) => {
  expect(await resolve(env)).toMatchObject(credentials);
});

test.each([
  ['farm', { PETSTORE_PROFILE: 'command' }, { profile: 'farm', baseUrl: 'https://a.example/farm/v1' }],
  // A typed profile takes nothing from the environment, so the environment is not validated.
  ['production', { ...BOTH, PETSTORE_API_KEY_COMMAND: 'c' }, { baseUrl: 'https://a.example/v1', key: KEY }],
  ['production', { PETSTORE_API_KEY: '', PETSTORE_BASE_URL: 'x' }, { key: KEY, keySource: 'stored' }],
  ['command', {}, { key: 'k-1', keySource: 'command' }],
  ['sandbox', {}, SANDBOX],
  ['sandbox', BOTH, SANDBOX],
])('with `--profile %s`, the environment %j results in credentials with %j', async (profile, env, credentials) => {
  expect(await resolve(env, profile)).toMatchObject(credentials);
});

test('the active profile is used if no profile is named', async () => {
  expect(await resolve({}, undefined, saved('farm'))).toMatchObject({ profile: 'farm' });
  expect(await resolve({}, undefined, saved('sandbox'))).toMatchObject(SANDBOX);
});

test.each([
  [{ PETSTORE_API_KEY: 'k' }, 'base URL for PETSTORE_API_KEY', 'set PETSTORE_BASE_URL'],
  [{ PETSTORE_API_KEY_COMMAND: 'op' }, 'base URL for PETSTORE_API_KEY_COMMAND', 'set PETSTORE_BASE_URL'],
  [URL_B, 'API key for the host in PETSTORE_BASE_URL', 'set PETSTORE_API_KEY to a key for https://b.example'],
])('without `-p`, profile "sandbox" with only %j is an error that names the variable', async (env, words, hint) => {
  const error = { kind: 'auth', message: `profile "sandbox" has no ${words}`, hint };
  await expect(resolve(env, undefined, saved('sandbox'))).rejects.toMatchObject(error);
  await expect(resolve({ ...env, PETSTORE_PROFILE: 'sandbox' })).rejects.toMatchObject(error);
});

test('without `-p`, no profile is read if the environment sets a base URL and either an API key or a key command', async () => {
  const store = (): Promise<ProfileStore> => Promise.reject(new Error('opened'));
  for (const [PETSTORE_PROFILE, profile] of [
    ['', 'production'],
    ['farm', 'farm'],
    ['sandbox', 'sandbox'],
  ] as const) {
    const env = { ...BOTH, PETSTORE_PROFILE };
    const target = await resolveCredentials(world([], { env }), readCredentialRequest(env, undefined), store);
    expect(target).toMatchObject({ profile, key: 'k' });
  }
  const env = { ...URL_B, PETSTORE_API_KEY_COMMAND: printing('k-2') };
  expect(await resolveCredentials(world([], { env }), readCredentialRequest(env, undefined), store)).toMatchObject({
    key: 'k-2',
  });
});

const OTHERS = ['https://a.example:8443/v1', 'https://a.example.evil.example/v1', 'https://sub.a.example/v1'];
test.each(OTHERS)('no saved key or key command is used for the base URL %s of another origin', async (url) => {
  for (const PETSTORE_PROFILE of ['production', 'command']) {
    const attempt = resolve({ PETSTORE_BASE_URL: url, PETSTORE_PROFILE });
    await expect(attempt).rejects.toMatchObject({ kind: 'auth', hint: expect.stringContaining('PETSTORE_API_KEY') });
    await expect(attempt).rejects.not.toThrow(KEY);
  }
});

const rejected = (kind: string, profile?: string) => async (env: object, message: string, hint: string) => {
  const error = { kind, message: expect.stringContaining(message), hint: expect.stringContaining(hint) };
  const thrown = await resolve({ ...env }, profile).catch((caught) => caught);
  expect(withHint(thrown, world([]), undefined)).toMatchObject(error);
};

const LOGIN = 'run `petstore auth login staging --url https://HOST/v1` to save a base URL and a key';
const CREATE = 'run `petstore auth login zzzzzzzz --url https://HOST/v1` to create it';
const STAGING = { PETSTORE_PROFILE: 'staging' };
const KEY_AS_PROFILE = { PETSTORE_PROFILE: 'sk_live_0123456789abcdef' };

test.each([
  ['edited', 'is for https://a.example and is not sent to https://evil.example'],
  ['no-origin', 'is for an unknown host and is not sent to https://a.example'],
  ['malformed', 'from profile "malformed" contains a space'],
  ['keyless', 'profile "keyless" has no API key'],
])('the error about the saved profile "%s" contains %j and has the hint to log in', (profile, message) =>
  rejected('auth', profile)(BOTH, message, `run \`petstore auth login ${profile}\` to save a valid key`),
);

test('a typed profile without a base URL is an auth error even if PETSTORE_BASE_URL is set', () =>
  rejected('auth', 'staging')(BOTH, 'profile "staging" has no base URL', LOGIN));

test('the error about a typed profile that resembles no saved profile has the hint to create the profile', () =>
  rejected('usage', 'zzzzzzzz')({}, 'does not exist', CREATE));

test('the error about an active profile that does not exist suggests no other profile', async () => {
  const message = expect.stringMatching(/^profile "fame" does not exist; available profiles: .*"farm"/);
  const hint = 'run `petstore auth switch PROFILE` to choose the active profile';
  await expect(resolve({}, undefined, saved('fame'))).rejects.toMatchObject({ kind: 'usage', message, hint });
});

test.each([
  [STAGING, 'profile "staging" has no base URL', LOGIN],
  [{ ...STAGING, PETSTORE_API_KEY: 'k' }, 'has no base URL', 'set PETSTORE_BASE_URL'],
  [{ ...URL_B, ...STAGING }, 'has no API key', 'set PETSTORE_API_KEY'],
  [{ PETSTORE_API_KEY: '' }, 'the API key from PETSTORE_API_KEY is empty', 'set PETSTORE_API_KEY'],
  [{ PETSTORE_API_KEY: 'k\n' }, 'the API key from PETSTORE_API_KEY contains', 'set PETSTORE_API_KEY'],
])('the environment %j is an auth error that contains %j', rejected('auth'));

test('the hint about an active profile without a base URL also names the sandbox, which needs no account', async () => {
  const hint = `${LOGIN}, or add -p sandbox, which needs no account`;
  await expect(resolve({}, undefined, saved('staging'))).rejects.toMatchObject({ kind: 'auth', hint });
});

test.each([
  // An invalid PETSTORE_BASE_URL is an error even if a base URL is saved.
  [{ PETSTORE_BASE_URL: '' }, 'PETSTORE_BASE_URL is empty', 'use the form https://HOST/v1'],
  [{ PETSTORE_BASE_URL: 'http://b.example/v1' }, 'PETSTORE_BASE_URL must', 'use the form https://HOST/v1'],
  [{ PETSTORE_PROFILE: 'stagin' }, 'profile "stagin" from PETSTORE_PROFILE does', 'did you mean "staging"?'],
  [KEY_AS_PROFILE, 'from PETSTORE_PROFILE looks like', 'pipe the key to `petstore auth login`'],
  [{ PETSTORE_PROFILE: 'A' }, 'invalid profile name "A" from PETSTORE_PROFILE', 'use 1 to 32'],
])('the environment %j is a usage error that contains %j', rejected('usage'));

test.each(['', '../x', '__proto__', 'A', '-x', 'a.b', 'many-words-in-one-name-of-a-profile', 'production '])(
  'the profile name %j is rejected',
  (name) => rejected('usage', name)({}, 'invalid profile name', 'use 1 to 32'),
);
