// Creates a directory and its parents without an endless loop.
import { existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Creates an absolute directory with mode 0700, and those above it. Node's `recursive: true` never returns if a parent exists
 * but reports ENOENT for what is created in it: `/proc`, an automounted `/home` (measured with Node 20 to 26).
 * @throws errors of the file system as they come
 */
export function mkdirp(dir: string): void {
  if (existsSync(dir) || dirname(dir) === dir) return;
  mkdirp(dirname(dir));
  try {
    mkdirSync(dir, { mode: 0o700 });
  } catch (error) {
    // Another process created it in the same moment.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}
