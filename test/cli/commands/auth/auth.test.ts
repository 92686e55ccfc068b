// `auth login`, `logout`, `switch` and `status` with a service that accepts one key.
import * as fs from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { tempDir } from '../../../support/temp-dir.ts';
import { inProcess, serving } from '../../../support/world.ts';
import { GOOD_KEY, startService } from './service.ts';

const service = await startService();
afterAll(service.close);
let dir = '';
beforeEach(() => {
  dir = tempDir();
  service.requests.length = 0;
});

const petstore = (line: string, stdin = '', env: Record<string, string> = {}) =>
  inProcess(line.split(' '), { dir, stdin, env });
const login = (key: string, more = '') => petstore(`auth login --url ${service.url}${more}`, key);
const file = () => join(dir, 'config', 'config.json');
const saved = (name = 'production') => JSON.parse(fs.readFileSync(file(), 'utf8')).profiles[name];
const files = () => (fs.existsSync(join(dir, 'config')) ? fs.readdirSync(join(dir, 'config')) : []);
const status = async (env: Record<string, string> = {}) =>
  JSON.parse((await petstore('auth status --json', '', env)).out);

test.each([
  ['before a second line', `${GOOD_KEY}\r\nsecond line\n`],
  ['between spaces', ` ${GOOD_KEY} \n`],
  ['after a byte order mark', `\ufeff${GOOD_KEY}`],
])(
  '`auth login` with a key %s on stdin verifies the key with one GET /categories and saves it',
  async (_where, stdin) => {
    const out = `Saved key …6789 for profile "production" (${service.url})\nProfile "production" is active\n`;
    expect(await login(stdin)).toMatchObject({ code: 0, out });
    expect(service.requests).toMatchObject([{ method: 'GET', path: '/v1/categories' }]);
    expect(saved()).toEqual({ url: service.url, key: GOOD_KEY, origin: service.origin });
    expect((await petstore('categories list --json')).out).toBe('[{"id":1,"name":"cat"}]\n');
  },
);

const REFUSED = 'nothing was saved: cannot connect to 127.0.0.1:9: connection refused\nhint: check --url\n';
const REJECTED =
  'the service rejected the API key (401), so nothing was saved: The API key is not valid. [unauthorized]\nhint: check the key and log in again\n';

test.each([
  ['a rejected key', '', 'bad-0123456789', 3, REJECTED],
  ['an unreachable service', ' --url http://127.0.0.1:9/v1 --max-retries 0', GOOD_KEY, 6, REFUSED],
])('`auth login` with %s exits with an error and saves nothing', async (_what, options, stdin, code, error) => {
  expect(await login(stdin, options)).toEqual({ code, out: '', err: `error: ${error}` });
  expect(files()).toEqual([]);
});

test.each([
  [404, 'auth login --url URL', 'check --url'],
  [404, 'auth login', 'check PETSTORE_BASE_URL'],
  [200, 'auth login -p saved', 'pass the correct base URL with --url'],
  [403, 'auth login --url URL', "check the API key's plan and permissions"],
  [503, 'auth login --url URL --max-retries 0', 'try again later'],
])(
  'if PETSTORE_BASE_URL is set and the service responds with status %i and the body {}, `%s` prints the hint: %s',
  async (status, line, hint) => {
    const { url } = await serving(() => ({ status, body: {} }));
    await petstore(`auth login saved --no-verify --url ${url}`, GOOD_KEY);
    const run = await petstore(line.replace('URL', url), 'k', { PETSTORE_BASE_URL: url });
    expect(run).toMatchObject({ out: '', err: expect.stringMatching(/^error: nothing was saved: .*\nhint: /) });
    expect(run.err).toContain(`hint: ${hint}`);
    expect(saved('saved').key).toBe(GOOD_KEY);
  },
);

const NOTE = 'Reading the key from stdin; for a hidden prompt, run `winpty petstore auth login`\nerror: ';

test.each([
  ['in Git Bash on Windows', 'a note about `winpty`', 'MINGW64', 'win32', NOTE],
  ['with MSYSTEM on Linux', 'its error', 'MINGW64', 'linux', 'error: '],
  ['in another shell on Windows', 'its error', '', 'win32', 'error: '],
])('`auth login` without a terminal, %s, first prints %s', async (_where, _what, MSYSTEM, platform, start) => {
  // The invalid key ensures that nothing is saved: outside Windows, a Windows path would become a file name.
  const options = { dir, stdin: 'not a key', env: { MSYSTEM }, platform };
  const { code, err } = await inProcess(['auth', 'login', '--url', service.url], options);
  expect([code, err.slice(0, start.length)]).toEqual([3, start]);
  expect(err).toContain('hint: pipe only the key: printable ASCII without spaces');
});

test('`auth login` replaces the saved key, and the saved base URL only if `--url` is given', async () => {
  await login(GOOD_KEY);
  expect(await petstore('auth login', GOOD_KEY)).toMatchObject({ code: 0 });
  expect(saved().url).toBe(service.url);
  const out = expect.stringContaining(
    'Saved key …ther for profile "production" (https://b.example/v1), not verified\n',
  );
  expect(await login('other-key-0123-ther', ' --no-verify --url https://b.example/v1/')).toMatchObject({
    code: 0,
    out,
  });
  expect(saved()).toEqual({ url: 'https://b.example/v1', key: 'other-key-0123-ther', origin: 'https://b.example' });
});

test('`auth login` without a name saves the key for the active profile', async () => {
  await petstore('auth switch staging');
  expect((await petstore('auth login', GOOD_KEY)).err).toContain('profile "staging" has no base URL');
  expect((await login(GOOD_KEY)).out).toContain('for profile "staging"');
});

test('`auth login` takes the base URL from the environment unless `-p` is given, and warns about a key in the environment', async () => {
  const env = { PETSTORE_BASE_URL: service.url, PETSTORE_API_KEY: 'other' };
  expect(await petstore('auth login -p farm', GOOD_KEY, env)).toMatchObject({ code: 3, out: '' });
  const run = await petstore('auth login', GOOD_KEY, env);
  expect(run).toMatchObject({
    code: 0,
    err: expect.stringContaining('PETSTORE_API_KEY overrides the key of profile "production"; to use'),
  });
});

test('`auth logout` removes the key and keeps the base URL, and a second logout prints that no key is saved', async () => {
  await login(GOOD_KEY);
  for (const done of ['Removed the key of', 'No key is saved for']) {
    const run = await petstore('auth logout', '', { PETSTORE_PROFILE: '' });
    expect(run).toMatchObject({ code: 0, out: `${done} profile "production"\n` });
    expect(saved()).toEqual({ url: service.url });
  }
  // The active profile no longer has a key, so a login activates the new profile.
  expect((await login(GOOD_KEY, ' farm')).out).toContain('Profile "farm" is now active\n');
});

test('`auth logout` warns about PETSTORE_API_KEY_COMMAND, unless `-p` is given', async () => {
  const env = { PETSTORE_API_KEY_COMMAND: 'k' };
  const { out, err } = await petstore('auth logout --json', '', env);
  const message = 'PETSTORE_API_KEY_COMMAND is still set and overrides saved keys';
  expect(JSON.parse(err)).toEqual({ warning: { message } });
  expect(JSON.parse(out)).toEqual({ profile: 'production', removed: false, deleted: false, activated: null });
  expect((await petstore('auth logout --delete', '', env)).err).toBe(`warning: ${message}\n`);
  expect((await petstore('auth logout -p production', '', env)).err).toBe('');
});

test('`auth logout --delete` deletes a saved profile, with or without a key, and names the new active profile', async () => {
  expect((await petstore('auth logout staging --delete')).out).toBe('No key is saved for profile "staging"\n');
  const unsaved = await petstore('auth logout staging --delete --json');
  expect(JSON.parse(unsaved.out)).toEqual({ profile: 'staging', removed: false, deleted: false, activated: null });
  for (const more of ['', ' --no-verify']) {
    await login(GOOD_KEY, ` farm${more}`);
    if (more !== '') await petstore('auth logout farm');
    const { out } = await petstore('auth logout --delete farm --json');
    expect(JSON.parse(out)).toEqual({ profile: 'farm', removed: true, deleted: true, activated: 'production' });
  }
  await login(GOOD_KEY, ' farm');
  const out = 'Deleted profile "farm"\nProfile "production" is now active\n';
  expect(await petstore('auth logout --delete')).toEqual({ code: 0, out, err: '' });
});

const AVAILABLE = 'available profiles: "production", "staging", "sandbox"';
const UNKNOWN = 'an unknown profile';
const FRM = { PETSTORE_PROFILE: 'frm' };

test.each([
  ['logout -p farm --delete', UNKNOWN, {}, `profile "farm" does not exist; ${AVAILABLE}\nhint: use one of them\n`],
  ['logout stagign', UNKNOWN, {}, `profile "stagign" does not exist; ${AVAILABLE}\nhint: use one of them\n`],
  ['logout -p sandbox', 'the built-in key', {}, 'cannot be removed\nhint: run `petstore auth logout NAME` to log out'],
  ['logout', 'an unknown profile in PETSTORE_PROFILE', FRM, 'profile "frm" from PETSTORE_PROFILE does not exist'],
  ['logout sk_live_0123456789abcdef', 'an API key as the name', {}, 'looks like an API key\nhint: pipe the key'],
  ['login farm -p staging', 'two profiles', {}, 'NAME and --profile must not differ'],
  ['switch stagign', UNKNOWN, {}, 'did you mean "staging"?'],
])('`auth %s` is a usage error because of %s, and saves nothing', async (line, _why, env, words) => {
  const run = await petstore(`auth ${line}`, GOOD_KEY, { ...env });
  expect(run).toMatchObject({ code: 2, out: '', err: expect.stringContaining(words) });
  expect(files()).toEqual([]);
});

const envKey = { PETSTORE_API_KEY: 'environment-key-abcd' };
const both = { ...envKey, PETSTORE_BASE_URL: 'https://b.example/v1' };

test.each([
  ['sandbox', 'PETSTORE_API_KEY and PETSTORE_BASE_URL', both],
  ['staging', 'PETSTORE_API_KEY', envKey],
  ['staging', 'PETSTORE_PROFILE', { PETSTORE_PROFILE: 'production' }],
  ['staging', 'PETSTORE_API_KEY_COMMAND', { PETSTORE_API_KEY_COMMAND: 'echo key' }],
  ['sandbox', 'PETSTORE_API_KEY', envKey],
])('`auth switch %s` warns that the active profile is overridden by %s', async (name, variables, env) => {
  const warnings = variables
    .split(' and ')
    .map(
      (one) => `warning: ${one} is set and overrides the active profile; to use profile "${name}", add -p ${name}\n`,
    );
  for (const done of ['is now active', 'is already active']) {
    const run = await petstore(`auth switch ${name}`, '', env);
    expect(run).toEqual({ code: 0, out: `Profile "${name}" ${done}\n`, err: warnings.join('') });
  }
});

test.each(['status', 'switch staging', 'logout --delete', 'login', 'login farm'])(
  '`auth %s` with a damaged configuration file exits with code 9 and leaves the file unchanged',
  async (line) => {
    await login(GOOD_KEY);
    fs.writeFileSync(file(), `{"key":"${GOOD_KEY}`);
    const { code, out, err } = await petstore(`auth ${line}`, GOOD_KEY);
    const hint = 'correct the file, or delete it and log in again';
    expect([code, out, err]).toEqual([9, '', `error: "${file()}" is damaged\nhint: ${hint}\n`]);
    expect(fs.readFileSync(file(), 'utf8')).toBe(`{"key":"${GOOD_KEY}`);
  },
);

test('`auth status` shows the base URL and the masked key of each profile, and marks the active profile', async () => {
  await login(GOOD_KEY);
  expect(await status()).toEqual([
    { profile: 'production', active: true, url: service.url, urlSource: 'stored', key: '…6789', keySource: 'stored' },
    expect.objectContaining({ profile: 'staging', active: false, url: null, key: null, problem: expect.any(String) }),
    { profile: 'sandbox', active: false, url: null, urlSource: 'sandbox', key: null, keySource: 'sandbox' },
  ]);
  const { out } = await petstore('auth list');
  expect(out).toMatch(/^\* production +http:\S+ +…6789$/m);
  expect(out).toMatch(/^ {2}sandbox +built in +built in$/m);
  expect(service.requests).toHaveLength(1);
});

test('`auth status` shows the key and base URL from the environment, even if the sandbox is active', async () => {
  const used = { url: 'https://b.example/v1', urlSource: 'environment', key: '…abcd', keySource: 'environment' };
  await petstore('auth switch sandbox');
  expect(await status(both)).toEqual([
    { profile: 'production', active: true, ...used },
    expect.objectContaining({ profile: 'staging', active: false, problem: 'profile "staging" has no base URL' }),
    expect.objectContaining({ profile: 'sandbox', active: false, keySource: 'sandbox' }),
  ]);
  const table = await petstore('auth status', '', both);
  expect(table.out).toMatch(/^\* production +https:\S+ \(env\) +…abcd \(env\)$/m);
  // An invalid key in the environment is reported even if the sandbox is active.
  const [, , sandbox] = await status({ PETSTORE_API_KEY: 'a b' });
  expect(sandbox).toMatchObject({ active: true, problem: expect.stringContaining('PETSTORE_API_KEY') });
});

test('`--profile` overrides the base URL and key from the environment, with a warning that names the ignored variables', async () => {
  await login(GOOD_KEY, ' -p farm');
  const { err } = await petstore('categories list -p farm', '', both);
  expect(err).toContain('warning: --profile overrides PETSTORE_API_KEY and PETSTORE_BASE_URL\nquota (farm): ');
});

test('the text of `auth status` names a problem only of a profile that is active or saved', async () => {
  expect((await petstore('auth status')).out).toMatch(/\n\nProfile "production" has no base URL\n$/);
  await login(GOOD_KEY, ' farm');
  expect((await petstore('auth status')).out).not.toContain('has no');
  await petstore('auth logout farm');
  await petstore('auth switch sandbox');
  // The sandbox needs no key, so a login leaves it active.
  const toUse = 'To use the profile, add -p ant or run `petstore auth switch ant`';
  expect(await login(GOOD_KEY, ' ant')).toMatchObject({ code: 0, out: expect.stringContaining(toUse) });
  expect((await petstore('auth status')).out).toMatch(/\n\nProfile "farm" has no API key\n$/);
});

test('a key command is saved if the service accepts its key, and runs again when the key is needed', async () => {
  const vault = join(dir, 'vault.mjs');
  const command = `"${process.execPath}" "${vault}"`;
  const saveCommand = () => inProcess(['auth', 'login', '--url', service.url, '--key-command', command], { dir });
  fs.writeFileSync(vault, "process.stdout.write('wrong-key')");
  expect(await saveCommand()).toMatchObject({
    code: 3,
    err: expect.stringContaining('hint: make --key-command print'),
  });
  expect(files()).toEqual([]);
  fs.writeFileSync(vault, `process.stdout.write('${GOOD_KEY}\\n')`);
  expect(await saveCommand()).toMatchObject({ code: 0, out: expect.stringContaining('Saved key command for profile') });
  expect(saved()).toEqual({ url: service.url, keyCommand: command, origin: service.origin });
  expect(await petstore('categories list --json')).toMatchObject({ code: 0 });
  expect((await status())[0]).toMatchObject({ key: null, keySource: 'command' });
});

test.each([
  ['without `--json`', ''],
  ['with `--json`', '--json'],
])('`auth login` and `auth status` %s hide a key in a key command', async (_what, json) => {
  const command = ['--key-command', "sh -c 'echo qZ7xK2mW9vB4'", '--no-verify', ...json.split(' ').filter(Boolean)];
  const run = await inProcess(['auth', 'login', '--url', service.url, ...command], { dir });
  expect(run).toMatchObject({ code: 0, err: '' });
  const shown = await petstore(`auth status ${json}`.trim());
  expect(shown.out).toContain(json ? '"keyCommand":"sh"' : 'from key command `sh`');
  expect(run.out + shown.out + shown.err).not.toContain('qZ7xK2mW9vB4');
});
