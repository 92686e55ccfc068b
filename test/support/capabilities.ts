// Capabilities of the platform under test, for `test.runIf(hasSignals)(…)`.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';

const posix = process.platform !== 'win32';

/** Pseudo-terminals whose other end a test can open. The consoles of Windows are typed into by `npm run bench -- windows`. */
export const hasPty = posix;
/** `sh` and the tools that scripts in tests use. */
export const hasShell = posix;
/** Permission bits and numeric owners; Windows has access lists. */
export const hasModes = posix;
/** Signals that a process can handle: on Windows, `kill()` ends it at once. */
export const hasSignals = posix;
/** Symbolic links that need no privilege. */
export const hasSymlinks = posix;
/** Directories that can be opened and flushed. */
export const hasDirectorySync = posix;
/** A listener whose queue is full ignores further connections; Windows rejects them. */
export const hasSilentBacklog = posix;
/** Devices as files. */
export const hasDevices = existsSync('/dev/zero');
/** A device that is always full, which macOS lacks too. */
export const hasDevFull = existsSync('/dev/full');
/** A namespace of its own in which a process may mount a small file system, to fill it. */
export const hasMounts = posix && spawnSync('unshare', ['-rm', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt']).status === 0;
