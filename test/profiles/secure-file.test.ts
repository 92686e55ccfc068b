// Owners, permissions and symbolic links of secure files.
import * as fs from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import type { SecureFileSystem } from '../../src/profiles/secure-file.ts';
import { secureDir, secureExisting, writeSecurely } from '../../src/profiles/secure-file.ts';
import { hasModes, hasSymlinks } from '../support/capabilities.ts';
import { tempDir } from '../support/temp-dir.ts';

let top = '';
let dir = '';
const system: SecureFileSystem = { fs, uid: process.getuid?.(), pause: () => undefined };
const stranger = { ...system, uid: (system.uid ?? 0) + 1 };
const path = (): string => join(dir, 'active.json');

function write(text: string, by = system): void {
  secureDir(by, dir);
  writeSecurely(by, path(), text);
}

function read(by = system): string | undefined {
  return secureExisting(by, path()) ? fs.readFileSync(path(), 'utf8') : undefined;
}

beforeEach(() => {
  top = tempDir();
  dir = join(top, 'config');
  write('old');
});

test.runIf(hasModes)("another user's file is neither read nor replaced", () => {
  const refused = expect.objectContaining({ kind: 'storage', message: expect.stringContaining('another user') });
  expect(() => read(stranger)).toThrow(refused);
  expect(() => write('new', stranger)).toThrow(refused);
  expect(read()).toBe('old');
});

test.runIf(hasModes)("another user's folder gets no key", () => {
  dir = join(top, 'theirs');
  expect(() => write('new', stranger)).toThrow(expect.objectContaining({ kind: 'storage' }));
  expect(fs.readdirSync(dir)).toEqual([]);
});

test.runIf(hasModes)('a folder with only profiles is restricted; one with other files is not changed', () => {
  fs.chmodSync(dir, 0o755);
  write('new');
  expect(fs.statSync(dir).mode & 0o777).toBe(0o700);
  fs.writeFileSync(join(dir, 'index.html'), 'theirs');
  fs.chmodSync(dir, 0o755);
  write('newer');
  expect(fs.statSync(dir).mode & 0o777).toBe(0o755);
  expect(fs.statSync(path()).mode & 0o777).toBe(0o600);
});

test.runIf(hasModes)('a folder that others can write to is rejected, unless it is sticky like /tmp', () => {
  fs.writeFileSync(join(dir, 'index.html'), 'theirs');
  fs.chmodSync(dir, 0o777);
  expect(() => write('new')).toThrow(/writable by others/);
  fs.chmodSync(dir, 0o1777);
  write('new');
  expect(read()).toBe('new');
});

test.runIf(hasSymlinks)('a link to a private folder of the user is followed and stays a link', () => {
  fs.mkdirSync(join(top, 'dotfiles'), { mode: 0o700 });
  fs.renameSync(path(), join(top, 'dotfiles', 'active.json'));
  fs.symlinkSync(join(top, 'dotfiles', 'active.json'), path());
  expect(read()).toBe('old');
  write('new');
  expect(fs.lstatSync(path()).isSymbolicLink()).toBe(true);
  expect(fs.readFileSync(join(top, 'dotfiles', 'active.json'), 'utf8')).toBe('new');
});

test.runIf(hasSymlinks)('a link to a folder that others can write to is rejected', () => {
  const shared = join(top, 'shared');
  fs.mkdirSync(shared);
  fs.chmodSync(shared, 0o777);
  fs.renameSync(path(), join(shared, 'file'));
  fs.symlinkSync(join(shared, 'file'), path());
  const refused = expect.objectContaining({ kind: 'storage', message: expect.stringContaining('others can write') });
  expect(() => read()).toThrow(refused);
  expect(() => write('new')).toThrow(refused);
  expect(fs.readFileSync(join(shared, 'file'), 'utf8')).toBe('old');
});

test.runIf(hasSymlinks)('a dangling link is rejected, and nothing is created behind it', () => {
  fs.unlinkSync(path());
  fs.symlinkSync(join(top, 'nowhere'), path());
  expect(() => write('new')).toThrow(expect.objectContaining({ kind: 'storage' }));
  expect(() => read()).toThrow(expect.objectContaining({ kind: 'storage' }));
  expect(fs.existsSync(join(top, 'nowhere'))).toBe(false);
});

test('a hard link keeps the old text: a write creates a new file', () => {
  fs.linkSync(path(), join(top, 'copy'));
  write('new');
  expect(fs.readFileSync(join(top, 'copy'), 'utf8')).toBe('old');
  expect(read()).toBe('new');
});

test.each(['EPERM', 'EACCES', 'EBUSY'])('on Windows a rename that fails with %s is retried for 2 s', (code) => {
  const paused: number[] = [];
  let failures = 3;
  const renameSync: typeof fs.renameSync = (from, to) => {
    if (failures-- > 0) throw Object.assign(new Error(code), { code });
    fs.renameSync(from, to);
  };
  const windows = { fs: { ...fs, renameSync }, uid: undefined, pause: (ms: number) => void paused.push(ms) };
  write('new', windows);
  expect(read()).toBe('new');
  expect(paused).toHaveLength(3);
  failures = Number.POSITIVE_INFINITY;
  expect(() => write('newer', windows)).toThrow(expect.objectContaining({ kind: 'storage' }));
  expect(paused.reduce((sum, ms) => sum + ms, 0)).toBeGreaterThanOrEqual(1950);
  expect([read(), fs.readdirSync(dir)]).toEqual(['new', ['active.json']]);
});
