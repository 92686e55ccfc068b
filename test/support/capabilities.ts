// Capabilities of the platform under test, for `test.runIf(hasSignals)(…)`.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import type { TestAPI } from 'vitest';
import { test } from 'vitest';
import type { ProgramTag } from './programs.ts';

const posix = process.platform !== 'win32';

/** Pseudo-terminals. */
export const hasPty = posix;
/** `sh` and the tools that scripts in tests use. */
export const hasShell = posix;
/** Permission bits and numeric owners. */
export const hasModes = posix;
/** Signals that a process can handle; on Windows, `kill()` ends it immediately. */
export const hasSignals = posix;
/** Symbolic links without privileges. */
export const hasSymlinks = posix;
export const hasDevices = existsSync('/dev/zero');
export const hasDevFull = existsSync('/dev/full');
/** File names that differ only in case; Windows and macOS ignore case by default. */
export const hasCaseSensitiveNames = !existsSync(import.meta.filename.toUpperCase());
/** Mount namespaces, in which a process can fill a small file system. */
export const hasMounts = posix && spawnSync('unshare', ['-rm', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt']).status === 0;

/** A `test` whose tests are skipped if a program is not installed. */
export function needs(
  program: ProgramTag,
): Pick<TestAPI, 'each'> & ((title: string, run: () => Promise<void>) => void) {
  const options = { tags: program };
  const each = (table: readonly unknown[]) => (title: string, run: (...row: unknown[]) => void) => {
    test.each(table)(title, options, run);
  };
  return Object.assign((title: string, run: () => Promise<void>) => test(title, options, run), {
    each: each as TestAPI['each'],
  });
}
