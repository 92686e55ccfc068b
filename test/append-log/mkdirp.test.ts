// Directories are created where they are missing, and a failure is reported at once.
import { existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { mkdirp } from '../../src/append-log/mkdirp.ts';
import { hasModes } from '../support/capabilities.ts';
import { ended, place, start } from '../support/program.ts';
import { tempDir } from '../support/temp-dir.ts';

test('a directory and those above it are created, private to their owner', () => {
  const dir = join(tempDir(), 'a', 'b', 'c');
  mkdirp(dir);
  mkdirp(dir);
  expect(statSync(dir).isDirectory()).toBe(true);
  if (hasModes) expect(statSync(join(dir, '..')).mode & 0o777).toBe(0o700);
});

test('a file in the way is an error of the file system', () => {
  const file = join(tempDir(), 'file');
  writeFileSync(file, '');
  expect(() => mkdirp(join(file, 'a', 'b'))).toThrow(
    expect.objectContaining({ code: hasModes ? 'ENOTDIR' : 'ENOENT' }),
  );
});

test('a parent that exists but reports ENOENT for what is created in it is an error, not an endless loop', () => {
  const dir = tempDir();
  const mkdir = ((path: string) => {
    if (path.startsWith(join(dir, 'auto'))) throw Object.assign(new Error('ENOENT'), { code: 'ENOENT' });
    return mkdirSync(path);
  }) as typeof mkdirSync;
  expect(() => mkdirp(join(dir, 'auto', 'a'), { mkdirSync: mkdir })).toThrow(
    expect.objectContaining({ code: 'ENOENT', syscall: 'mkdir' }),
  );
});

test.skipIf(!existsSync('/proc/self'))(
  'a state directory in /proc is one warning for the ledger, and exit 9 for the sandbox',
  async () => {
    const env = { PETSTORE_STATE_DIR: '/proc/petstore/state' };
    const run = await ended(start(place(env), ['-p', 'sandbox', 'categories', 'list']));
    expect(run.code).toBe(9);
    expect(run.err).toMatch(/^warning: the rate limit cannot be shared.*\nerror: .*ENOENT/);
  },
);
