import { existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Creates an absolute directory and its parents with mode 0700. Node's `recursive: true` never returns if a parent exists
 * but reports ENOENT for new entries, such as `/proc` or an automounted `/home` (measured with Node 20 to 26).
 * @throws file system errors unchanged
 */
export function mkdirp(dir: string): void {
  if (existsSync(dir) || dirname(dir) === dir) return;
  mkdirp(dirname(dir));
  try {
    mkdirSync(dir, { mode: 0o700 });
  } catch (error) {
    // Another process created it at the same moment.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}
