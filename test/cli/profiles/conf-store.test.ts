// Profiles on disk: private, replaced atomically, and never overwritten if they cannot be read.
import { execFileSync, spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { openConfStore } from '../../../src/cli/profiles/conf-store.ts';
import { hasModes, hasShell } from '../../support/capabilities.ts';
import { BASE_ENV } from '../../support/processes.ts';
import { BIN } from '../../support/program.ts';
import { tempDir } from '../../support/temp-dir.ts';

const KEY = 'secret-key-0123456789';
const PROFILE = { url: 'https://a.example/v1', key: KEY, origin: 'https://a.example' };

let dir = '';
beforeEach(() => {
  dir = join(tempDir(), 'config');
});

const file = (name = 'production'): string => join(dir, `profile-${name}.json`);
const modeOf = (path: string): string => (fs.statSync(path).mode & 0o777).toString(8);

test('reading profiles creates no directory and no file', () => {
  const store = openConfStore(dir);
  expect(store.names()).toEqual(['production', 'staging', 'sandbox']);
  expect([store.get('production'), store.active()]).toEqual([undefined, 'production']);
  expect(fs.existsSync(dir)).toBe(false);
});

test.each(['000', '077'])('under umask %s a saved profile is read back, and its files are private', (umask) => {
  const before = process.umask(umask);
  onTestFinished(() => void process.umask(before));
  for (const name of ['production', 'farm', 'ant']) openConfStore(dir).save(name, PROFILE);
  openConfStore(dir).activate('farm');
  const store = openConfStore(dir);
  expect(store.get('production')).toEqual(PROFILE);
  expect(store.names()).toEqual(['production', 'staging', 'sandbox', 'ant', 'farm']);
  expect(store.active()).toBe('farm');
  if (hasModes) expect(modeOf(dir)).toBe('700');
  const files = ['active.json', 'profile-ant.json', 'profile-farm.json', 'profile-production.json'];
  expect(fs.readdirSync(dir).sort()).toEqual(files);
  for (const name of files) if (hasModes) expect(modeOf(join(dir, name))).toBe('600');
});

test.runIf(hasModes)('a profile that others can read becomes private, and its directory keeps its mode', () => {
  openConfStore(dir).save('production', PROFILE);
  fs.chmodSync(file(), 0o644);
  fs.chmodSync(dir, 0o755);
  expect(openConfStore(dir).get('production')).toEqual(PROFILE);
  expect(modeOf(file())).toBe('600');
  openConfStore(dir).save('production', PROFILE);
  expect([modeOf(file()), modeOf(dir)]).toEqual(['600', '755']);
});

const valid = JSON.stringify({ version: 1, ...PROFILE });
test.each([
  ['cut off', valid.slice(0, 60)],
  ['a byte order mark and a trailing character', `\ufeff${valid}x`],
  ['null', 'null'],
  ['an array', '[1,2]'],
  ['a key that is not a string', '{"version":1,"key":{"a":1}}'],
])('a damaged profile file (%s) is named in the error, never quoted and never changed', (_what, content) => {
  const store = openConfStore(dir);
  store.save('farm', PROFILE);
  fs.writeFileSync(file(), content);
  const damage = expect.objectContaining({
    kind: 'storage',
    message: expect.stringMatching(/^(?!.*secret-key).*profile-production\.json/),
    hint: 'run `petstore auth logout -p production --delete` to delete the profile',
  });
  expect(() => store.get('production')).toThrow(damage);
  expect(() => store.save('production', PROFILE)).toThrow(damage);
  expect(() => store.removeKey('production')).toThrow(damage);
  expect(fs.readFileSync(file())).toEqual(Buffer.from(content));
  // Other profiles still work, and so does removing the damaged one.
  expect(store.get('farm')).toMatchObject({ key: KEY });
  expect(store.names()).toContain('production');
  expect(store.remove('production')).toBe(true);
  expect(fs.readdirSync(dir)).toEqual(['profile-farm.json']);
});

test.runIf(process.platform !== 'win32')('a FIFO in place of a profile is an error and does not block', () => {
  fs.mkdirSync(dir, { recursive: true });
  execFileSync('mkfifo', [file()]);
  expect(() => openConfStore(dir).get('production')).toThrow(`"${file()}" is not a regular file`);
});

test('a damaged record of the active profile is an error until a switch replaces it', () => {
  openConfStore(dir).activate('staging');
  fs.writeFileSync(join(dir, 'active.json'), '{"active":"../x"}');
  expect(() => openConfStore(dir).active()).toThrow(expect.objectContaining({ kind: 'storage' }));
  openConfStore(dir).activate('production');
  expect(openConfStore(dir).active()).toBe('production');
});

test.each(['__proto__', 'a.b', '', '../x'])('saving a profile named %j is rejected and writes nothing', (name) => {
  expect(() => openConfStore(dir).save(name, PROFILE)).toThrow(expect.objectContaining({ kind: 'usage' }));
  expect(fs.existsSync(dir)).toBe(false);
});

test.each(['constructor', '0', 'active'])('a profile named %j is saved, and active until it is removed', (name) => {
  const store = openConfStore(dir);
  store.save(name, PROFILE);
  store.activate(name);
  expect([store.get(name), store.active()]).toEqual([PROFILE, name]);
  store.remove(name);
  expect([store.get(name), store.active()]).toEqual([undefined, 'production']);
});

test.each([
  ['profile', 'remove', undefined, []],
  ['key', 'removeKey', { url: PROFILE.url }, ['profile-production.json']],
] as const)('removing a %s removes every byte of it, even after killed writes', (_what, remove, profile, files) => {
  const store = openConfStore(dir);
  store.save('production', PROFILE);
  for (const name of ['old', 'tmp-0123']) fs.writeFileSync(`${file()}.${name}`, valid);
  expect([store[remove]('production'), store[remove]('production')]).toEqual([true, false]);
  expect(store.get('production')).toEqual(profile);
  expect(fs.readdirSync(dir)).toEqual(files);
  for (const name of files) expect(fs.readFileSync(join(dir, name), 'utf8')).not.toContain(KEY.slice(0, 8));
});

test('a save removes leftover files of killed writes that are older than a minute', () => {
  const store = openConfStore(dir);
  store.save('production', PROFILE);
  for (const name of ['old', 'tmp-0123', 'tmp-4567']) fs.writeFileSync(`${file()}.${name}`, valid);
  fs.utimesSync(`${file()}.tmp-0123`, 0, 0);
  store.save('production', PROFILE);
  expect(fs.readdirSync(dir).sort()).toEqual(['profile-production.json', 'profile-production.json.tmp-4567']);
});

// `ulimit` simulates a full disk: a file has room for no byte, or for one block of 512 bytes.
test.runIf(hasShell).each(['0', '1'])('with %s free blocks, a login keeps the old key (exit code 9)', (blocks) => {
  openConfStore(dir).save('production', PROFILE);
  const before = fs.readFileSync(file());
  const script = 'ulimit -f "$1"; shift; exec "$@" auth login -p production --no-verify';
  const { status, stderr } = spawnSync('sh', ['-c', script, 'sh', blocks, process.execPath, BIN], {
    env: { ...BASE_ENV, HOME: join(dir, '..'), PETSTORE_CONFIG_DIR: dir },
    input: `new-key-${'-'.repeat(1000)}\n`,
  });
  expect([status, stderr.toString()]).toEqual([9, expect.stringContaining(file())]);
  expect(fs.readFileSync(file())).toEqual(before);
  expect(fs.readdirSync(dir)).toEqual(['profile-production.json']);
});
