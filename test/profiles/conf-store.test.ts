// Profiles on disk: private, replaced atomically, and never overwritten if they cannot be read.
import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { openConfStore } from '../../src/profiles/conf-store.ts';
import { hasModes, hasShell } from '../support/capabilities.ts';
import { tempDir } from '../support/temp-dir.ts';

const KEY = 'canary-key-0123456789';
const PROFILE = { name: 'production', url: 'https://a.example/v1', key: KEY, origin: 'https://a.example' };

let dir = '';
beforeEach(() => {
  dir = join(tempDir(), 'config');
});

const file = (name = 'production'): string => join(dir, `profile-${name}.json`);
const modeOf = (path: string): string => (fs.statSync(path).mode & 0o777).toString(8);

test('reading creates no folder and no file', () => {
  const store = openConfStore(dir);
  expect(store.names()).toEqual(['production', 'staging', 'sandbox']);
  expect([store.get('production'), store.active()]).toEqual([undefined, 'production']);
  expect(fs.existsSync(dir)).toBe(false);
});

test('a saved profile is read back, also by another store, from private files', () => {
  openConfStore(dir).save(PROFILE);
  openConfStore(dir).save({ ...PROFILE, name: 'farm' });
  openConfStore(dir).activate('farm');
  const store = openConfStore(dir);
  expect(store.get('production')).toEqual(PROFILE);
  expect(store.names()).toEqual(['production', 'staging', 'sandbox', 'farm']);
  expect(store.active()).toBe('farm');
  if (hasModes) expect(modeOf(dir)).toBe('700');
  expect(fs.readdirSync(dir).sort()).toEqual(['active.json', 'profile-farm.json', 'profile-production.json']);
  for (const name of fs.readdirSync(dir)) if (hasModes) expect(modeOf(join(dir, name))).toBe('600');
});

test('removing a key keeps the URL and leaves no byte of the key', () => {
  const store = openConfStore(dir);
  store.save(PROFILE);
  expect(store.removeKey('production')).toBe(true);
  expect(store.removeKey('production')).toBe(false);
  expect(store.get('production')).toEqual({ name: 'production', url: PROFILE.url });
  expect(fs.readFileSync(file(), 'utf8')).not.toContain(KEY.slice(0, 8));
});

test.runIf(hasModes)('a file that others can read is restricted by a read, and its folder by a write', () => {
  openConfStore(dir).save(PROFILE);
  fs.chmodSync(file(), 0o644);
  fs.chmodSync(dir, 0o755);
  expect(openConfStore(dir).get('production')).toEqual(PROFILE);
  expect(modeOf(file())).toBe('600');
  openConfStore(dir).save(PROFILE);
  expect(modeOf(dir)).toBe('700');
});

const valid = JSON.stringify({ version: 1, ...PROFILE });
test.each([
  ['cut off', valid.slice(0, 60)],
  ['empty', ''],
  ['NUL bytes', '\0'.repeat(64)],
  ['a BOM', `\ufeff${valid}x`],
  ['merge marks', `<<<<<<< HEAD\n${valid}\n=======\n${valid}\n>>>>>>> theirs`],
  ['a comment', `// mine\n${valid}`],
  ['null', 'null'],
  ['a number', '42'],
  ['text', '"abc"'],
  ['an array', '[1,2]'],
  ['a key that is not a string', '{"version":1,"key":{"a":1}}'],
  ['a newer format', JSON.stringify({ ...PROFILE, __internal__: { migrations: { version: '3.0.0' } } })],
])('a damaged file (%s) is named with a hint, never shown and never changed', (_what, content) => {
  const store = openConfStore(dir);
  store.save({ ...PROFILE, name: 'farm' });
  fs.writeFileSync(file(), content);
  const damage = expect.objectContaining({
    kind: 'storage',
    message: expect.stringContaining(file()),
    hint: expect.stringContaining('petstore auth login'),
  });
  expect(() => store.get('production')).toThrow(damage);
  expect(() => store.save(PROFILE)).toThrow(damage);
  expect(() => store.removeKey('production')).toThrow(damage);
  expect(fs.readFileSync(file())).toEqual(Buffer.from(content));
  // Other profiles still work, and so does removing everything.
  expect(store.get('farm')).toMatchObject({ key: KEY });
  expect(store.names()).toContain('production');
  expect(store.removeAll()).toEqual(expect.arrayContaining(['production', 'farm']));
  expect(fs.readdirSync(dir)).toEqual([]);
});

test('a damaged file of the active profile is not changed', () => {
  openConfStore(dir).activate('staging');
  fs.writeFileSync(join(dir, 'active.json'), '{"version":1,"active":"../x"}');
  expect(() => openConfStore(dir).active()).toThrow(expect.objectContaining({ kind: 'storage' }));
  expect(() => openConfStore(dir).activate('staging')).toThrow(expect.objectContaining({ kind: 'storage' }));
  expect(fs.readFileSync(join(dir, 'active.json'), 'utf8')).toContain('../x');
});

test.each(['__proto__', 'toString', 'a.b', '0a/b', '', '../x'])('the name %j stores nothing anywhere', (name) => {
  expect(() => openConfStore(dir).save({ ...PROFILE, name })).toThrow(expect.objectContaining({ kind: 'usage' }));
  expect(fs.existsSync(dir)).toBe(false);
});

test.each(['constructor', 'prototype', '0', 'active', 'con'])(
  'the unusual name %j is stored like any other',
  (name) => {
    openConfStore(dir).save({ ...PROFILE, name });
    expect(openConfStore(dir).get(name)).toEqual({ ...PROFILE, name });
    expect(openConfStore(dir).active()).toBe('production');
  },
);

test('the next write removes the leftovers of a killed write, but not of a running one', () => {
  const store = openConfStore(dir);
  store.save(PROFILE);
  // No Linux process has this id: the kernel's largest is 2^22.
  const dead = `${file()}.99999999.tmp`;
  const living = `${file('farm')}.${process.ppid}.tmp`;
  for (const path of [dead, living]) fs.writeFileSync(path, valid);
  store.save(PROFILE);
  expect([fs.existsSync(dead), fs.existsSync(living)]).toEqual([false, true]);
  expect(store.removeAll()).toEqual(['production']);
});

test('removing everything succeeds where there is nothing', () => {
  expect(openConfStore(dir).removeAll()).toEqual([]);
});

const CALLS = ['mkdirSync', 'writeFileSync', 'renameSync', 'lstatSync', 'statSync'] as const;

test.each(CALLS.flatMap((call) => ['ENOSPC', 'EACCES', 'EIO'].map((code) => [call, code] as const)))(
  'if %s fails with %s, the old key stays and no temporary file is left',
  (call, code) => {
    openConfStore(dir).save(PROFILE);
    const before = fs.readFileSync(file());
    const failing = { ...fs, [call]: () => raise(code) };
    expect(() => openConfStore(dir, failing).save({ ...PROFILE, key: 'new' })).toThrow(
      expect.objectContaining({ kind: 'storage', message: expect.stringContaining(code) }),
    );
    expect(fs.readFileSync(file())).toEqual(before);
    expect(fs.readdirSync(dir)).toEqual(['profile-production.json']);
  },
);

function raise(code: string): never {
  throw Object.assign(new Error(code), { code });
}

test('a write that fails halfway leaves the old key and no temporary file', () => {
  openConfStore(dir).save(PROFILE);
  const before = fs.readFileSync(file());
  const full = {
    ...fs,
    writeFileSync: (path: string, text: string, options: fs.WriteFileOptions) => {
      fs.writeFileSync(path, text.slice(0, 10), options);
      raise('ENOSPC');
    },
  } as typeof fs;
  expect(() => openConfStore(dir, full).save({ ...PROFILE, key: 'new' })).toThrow(
    expect.objectContaining({ kind: 'storage' }),
  );
  expect(fs.readFileSync(file())).toEqual(before);
  expect(fs.readdirSync(dir)).toEqual(['profile-production.json']);
});

test('an unreadable file is a storage error whose hint names the environment variables', () => {
  openConfStore(dir).save(PROFILE);
  const closed = { ...fs, lstatSync: () => raise('EACCES') } as unknown as typeof fs;
  expect(() => openConfStore(dir, closed).get('production')).toThrow(
    expect.objectContaining({ kind: 'storage', hint: expect.stringContaining('PETSTORE_API_KEY') }),
  );
});

test.runIf(hasShell)('a folder, a FIFO or a huge file in place of a profile is rejected, and nothing hangs', () => {
  fs.mkdirSync(join(dir, 'profile-production.json'), { recursive: true });
  expect(() => openConfStore(dir).get('production')).toThrow(expect.objectContaining({ kind: 'storage' }));
  execFileSync('mkfifo', [file('staging')]);
  expect(() => openConfStore(dir).get('staging')).toThrow(/not a regular file/);
  fs.writeFileSync(file('farm'), Buffer.alloc(1024 * 1024 + 1));
  expect(() => openConfStore(dir).get('farm')).toThrow(/larger than 1 MiB/);
});
