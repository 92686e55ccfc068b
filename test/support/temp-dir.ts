// Temporary directories for tests. All of them lie in one directory of the test run, which global-setup.ts removes at the end.
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Creates an empty directory of its own; the run removes it at the end. */
export function tempDir(): string {
  return mkdtempSync(join(tmpdir(), 'petstore-test-'));
}
