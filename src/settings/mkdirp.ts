import { existsSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** How long a log is kept after its last use, in milliseconds. */
export const RETENTION_MS = 48 * 3_600_000;

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

/**
 * Creates the directory of a log, and removes directories beside it that were not used for RETENTION_MS.
 * @throws file system errors unchanged
 */
export function mkdirAndPrune(dir: string): void {
  if (existsSync(dir)) return;
  mkdirp(dir);
  const oldest = statSync(dir).mtimeMs - RETENTION_MS;
  for (const name of readdirSync(dirname(dir))) removeUnused(join(dirname(dir), name), oldest);
}

function removeUnused(dir: string, oldest: number): void {
  try {
    const files = readdirSync(dir).map((name) => join(dir, name));
    // Keep an empty directory: another process may have just created it.
    if (files.length === 0 || files.some((file) => statSync(file).mtimeMs >= oldest)) return;
    rmSync(dir, { recursive: true });
  } catch {
    // Another process is removing it, or it is not a directory.
  }
}
