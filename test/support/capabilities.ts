// Capabilities of the platform under test, for `test.runIf(hasSignals)(…)`.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';

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
/** File names that differ in case; Windows and macOS ignore case by default. */
export const hasCaseSensitiveNames = !existsSync(import.meta.filename.toUpperCase());
/** Mount namespaces, in which a process can fill a small file system. */
export const hasMounts = posix && spawnSync('unshare', ['-rm', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt']).status === 0;
