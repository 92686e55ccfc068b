// Missing directories are created, and a failure is reported immediately.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { mkdirp } from '../../src/append-log/mkdirp.ts';
import { ended, place } from '../support/processes.ts';
import { start } from '../support/program.ts';
import { tempDir } from '../support/temp-dir.ts';

test('a missing directory is created with its parents, and an existing one is accepted', () => {
  const dir = join(tempDir(), 'a', 'b');
  mkdirp(dir);
  mkdirp(dir);
  expect(existsSync(dir)).toBe(true);
});

test.skipIf(!existsSync('/proc/self'))(
  'a state directory in /proc causes one warning about the rate limit and exit code 9 of the sandbox',
  async () => {
    const env = { PETSTORE_STATE_DIR: '/proc/petstore/state' };
    const run = await ended(start(place(env), ['-p', 'sandbox', 'categories', 'list']));
    expect(run.code).toBe(9);
    expect(run.err).toMatch(/^warning: .*; the rate limit is not shared.*\nerror: .*\(no such file or directory\)\n/);
  },
);
