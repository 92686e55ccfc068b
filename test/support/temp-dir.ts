// Temporary folders for tests. All of them lie in one folder of the test run, which global-setup.ts removes at the end.
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Creates an empty folder of its own; nobody needs to remove it. */
export function tempDir(): string {
  return mkdtempSync(join(tmpdir(), 'petstore-test-'));
}
