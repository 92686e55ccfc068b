// Whose files are read and written, and through which links.
import * as fs from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { userId } from '../../src/profiles/own-process.ts';
import { readPrivate, writePrivate } from '../../src/profiles/secure-file.ts';
import type { PrivateFolder } from '../../src/profiles/secure-folder.ts';
import { tempDir } from '../support/temp-dir.ts';

let top = '';
let folder: PrivateFolder;
beforeEach(() => {
  top = tempDir();
  folder = { dir: join(top, 'config'), fs, uid: userId(), owns: (name) => name === 'file' };
  writePrivate(folder, 'file', 'old');
});

const path = (): string => join(folder.dir, 'file');

test("another user's file is not read, and not written over", () => {
  const stranger = { ...folder, uid: (folder.uid ?? 0) + 1 };
  const refused = expect.objectContaining({ kind: 'storage', message: expect.stringContaining('another user') });
  expect(() => readPrivate(stranger, 'file')).toThrow(refused);
  expect(() => writePrivate(stranger, 'file', 'new')).toThrow(refused);
  expect(readPrivate(folder, 'file')).toBe('old');
});

test("another user's folder gets no key", () => {
  const stranger = { ...folder, dir: join(top, 'theirs'), uid: (folder.uid ?? 0) + 1 };
  expect(() => writePrivate(stranger, 'file', 'new')).toThrow(expect.objectContaining({ kind: 'storage' }));
  expect(fs.readdirSync(stranger.dir)).toEqual([]);
});

test('a folder that holds our files alone is closed to others, one that holds more is not touched', () => {
  fs.chmodSync(folder.dir, 0o755);
  writePrivate(folder, 'file', 'new');
  expect(fs.statSync(folder.dir).mode & 0o777).toBe(0o700);
  fs.writeFileSync(join(folder.dir, 'index.html'), 'theirs');
  fs.chmodSync(folder.dir, 0o755);
  writePrivate(folder, 'file', 'newer');
  expect(fs.statSync(folder.dir).mode & 0o777).toBe(0o755);
  expect(fs.statSync(path()).mode & 0o777).toBe(0o600);
});

test('a folder of many things where anybody can write gets no key, but for one like /tmp', () => {
  fs.writeFileSync(join(folder.dir, 'index.html'), 'theirs');
  fs.chmodSync(folder.dir, 0o777);
  expect(() => writePrivate(folder, 'file', 'new')).toThrow(/written by others/);
  fs.chmodSync(folder.dir, 0o1777);
  writePrivate(folder, 'file', 'new');
  expect(readPrivate(folder, 'file')).toBe('new');
});

test('a link to a private place of the user is followed, and stays a link', () => {
  fs.mkdirSync(join(top, 'dotfiles'), { mode: 0o700 });
  fs.renameSync(path(), join(top, 'dotfiles', 'file'));
  fs.symlinkSync(join(top, 'dotfiles', 'file'), path());
  expect(readPrivate(folder, 'file')).toBe('old');
  writePrivate(folder, 'file', 'new');
  expect(fs.lstatSync(path()).isSymbolicLink()).toBe(true);
  expect(fs.readFileSync(join(top, 'dotfiles', 'file'), 'utf8')).toBe('new');
});

test('a link to where others can write is refused', () => {
  const shared = join(top, 'shared');
  fs.mkdirSync(shared);
  fs.chmodSync(shared, 0o777);
  fs.renameSync(path(), join(shared, 'file'));
  fs.symlinkSync(join(shared, 'file'), path());
  const refused = expect.objectContaining({ kind: 'storage', message: expect.stringContaining('others can write') });
  expect(() => readPrivate(folder, 'file')).toThrow(refused);
  expect(() => writePrivate(folder, 'file', 'new')).toThrow(refused);
  expect(fs.readFileSync(join(shared, 'file'), 'utf8')).toBe('old');
});

test('a link that leads nowhere is refused, and nothing is made behind it', () => {
  fs.unlinkSync(path());
  fs.symlinkSync(join(top, 'nowhere'), path());
  expect(() => writePrivate(folder, 'file', 'new')).toThrow(expect.objectContaining({ kind: 'storage' }));
  expect(() => readPrivate(folder, 'file')).toThrow(expect.objectContaining({ kind: 'storage' }));
  expect(fs.existsSync(join(top, 'nowhere'))).toBe(false);
});

test('a hard link elsewhere keeps the old text: a write makes a new file', () => {
  fs.linkSync(path(), join(top, 'copy'));
  writePrivate(folder, 'file', 'new');
  expect(fs.readFileSync(join(top, 'copy'), 'utf8')).toBe('old');
  expect(readPrivate(folder, 'file')).toBe('new');
});
