// Folders are made where they are missing, and where none can be made that is said, at once.
import { existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { mkdirp } from '../../src/append-log/mkdirp.ts';
import { ended, place, start } from '../support/program.ts';
import { tempDir } from '../support/temp-dir.ts';

const fresh = (): string => tempDir();

test('a folder and those above it are made, private', () => {
  const dir = join(fresh(), 'a', 'b', 'c');
  mkdirp(dir);
  mkdirp(dir);
  expect(statSync(dir).isDirectory()).toBe(true);
  if (process.platform !== 'win32') expect(statSync(join(dir, '..')).mode & 0o777).toBe(0o700);
});

test('a file in the way is an error of the file system', () => {
  const file = join(fresh(), 'file');
  writeFileSync(file, '');
  expect(() => mkdirp(join(file, 'a', 'b'))).toThrow(/ENOTDIR/);
});

test('a parent that is there and in which nothing is found ends it: no endless loop', () => {
  const dir = fresh();
  const mkdir = ((path: string) => {
    if (path.startsWith(join(dir, 'auto'))) throw Object.assign(new Error('ENOENT'), { code: 'ENOENT' });
    return mkdirSync(path);
  }) as typeof mkdirSync;
  expect(() => mkdirp(join(dir, 'auto', 'a'), { mkdirSync: mkdir })).toThrow(
    expect.objectContaining({ code: 'ENOENT', syscall: 'mkdir' }),
  );
});

test.skipIf(!existsSync('/proc/self'))('a state folder in /proc is one warning, a sandbox there exit 9', async () => {
  const env = { PETSTORE_STATE_DIR: '/proc/petstore/state' };
  const run = await ended(start(place(env), ['-p', 'sandbox', 'categories', 'list']));
  expect(run.code).toBe(9);
  expect(run.err).toMatch(/^warning: the rate limit cannot be shared.*\nerror: .*ENOENT/);
});
