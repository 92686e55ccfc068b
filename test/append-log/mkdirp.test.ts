// Missing directories are created, and a failure is reported at once.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { mkdirp } from '../../src/append-log/mkdirp.ts';
import { ended, place } from '../support/processes.ts';
import { start } from '../support/program.ts';
import { tempDir } from '../support/temp-dir.ts';

test('a directory is created with its parents, and one that exists stays', () => {
  const dir = join(tempDir(), 'a', 'b');
  mkdirp(dir);
  mkdirp(dir);
  expect(existsSync(dir)).toBe(true);
});

test.skipIf(!existsSync('/proc/self'))(
  'a state directory in /proc is one warning for the ledger, and exit 9 for the sandbox',
  async () => {
    const env = { PETSTORE_STATE_DIR: '/proc/petstore/state' };
    const run = await ended(start(place(env), ['-p', 'sandbox', 'categories', 'list']));
    expect(run.code).toBe(9);
    expect(run.err).toMatch(/^warning: the rate limit is not shared.*\nerror: .*ENOENT/);
  },
);
