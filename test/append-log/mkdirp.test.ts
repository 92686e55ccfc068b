// A directory that cannot be created is reported immediately.
import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { ended, place } from '../support/processes.ts';
import { start } from '../support/program.ts';

test.skipIf(!existsSync('/proc/self'))(
  'a state directory in /proc causes one warning about the rate limit and exit code 9 of the sandbox',
  async () => {
    const env = { PETSTORE_STATE_DIR: '/proc/petstore/state' };
    const run = await ended(start(place(env), ['-p', 'sandbox', 'categories', 'list']));
    expect(run.code).toBe(9);
    expect(run.err).toMatch(/^warning: .*; the rate limit is not shared.*\nerror: .*\(no such file or directory\)\n/);
  },
);
