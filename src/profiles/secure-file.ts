// Small private files: only their owner can read them, and they are replaced whole or not at all.
import type * as nodeFs from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { mkdirp } from '../append-log/mkdirp.ts';
import { PetstoreError } from '../errors.ts';
import { escapeControls } from '../escape.ts';

export interface SecureFileSystem {
  /** `node:fs`; tests inject one that fails. */
  readonly fs: typeof nodeFs;
  /** The user's id; undefined on Windows, where the profile folder's own permissions protect the file. */
  readonly uid: number | undefined;
  /** Waits between attempts to replace a file that another process holds open. */
  readonly pause: (ms: number) => void;
}

const MAX_BYTES = 1024 * 1024;
// Set on a folder such as /tmp, where nobody can replace the files of others.
const STICKY = 0o1000;
const OWN_FILE = /^(?:profile-.*|active)\.json(?:\.\d+\.tmp)?$/;
const RENAME_ATTEMPTS = 40;
const RENAME_PAUSE_MS = 50;

/**
 * Creates the folder with mode 0700, or restricts one that contains only profiles.
 * @throws PetstoreError `storage` where it belongs to another user or cannot be made private
 */
export function secureDir(system: SecureFileSystem, dir: string): void {
  const { fs, uid } = system;
  try {
    mkdirp(dir, fs);
    if (uid === undefined) return;
    const stats = fs.statSync(dir);
    checkOwner(system, dir, stats);
    if ((stats.mode & 0o077) === 0) return;
    // A folder with other files in it is not ours to restrict.
    if (fs.readdirSync(dir).every((name) => OWN_FILE.test(name))) fs.chmodSync(dir, 0o700);
    else if ((stats.mode & 0o022) !== 0 && (stats.mode & STICKY) === 0) {
      throw fileError(dir, 'is writable by others', 'run `chmod 700` on it, or set PETSTORE_CONFIG_DIR');
    }
  } catch (error) {
    throw storageError(error, dir, 'create');
  }
}

/**
 * Restricts the file to mode 0600.
 * @throws PetstoreError `storage` for anything but a small regular file of the user
 */
export function secureExisting(system: SecureFileSystem, path: string): boolean {
  const { fs, uid } = system;
  try {
    if (!fs.lstatSync(path, { throwIfNoEntry: false })) return false;
    const target = ownTarget(system, path);
    const stats = fs.statSync(target);
    if (!stats.isFile()) throw fileError(path, 'is not a regular file', 'move it away and log in again');
    if (stats.size > MAX_BYTES) throw damagedFile(path, 'is larger than 1 MiB');
    if (uid !== undefined && (stats.mode & 0o077) !== 0) fs.chmodSync(target, 0o600);
    return true;
  } catch (error) {
    throw storageError(error, path, 'read');
  }
}

/**
 * Replaces the file atomically, with mode 0600.
 * @throws PetstoreError `storage`; the old file is then unchanged
 */
export function writeSecurely(system: SecureFileSystem, path: string, text: string): void {
  const { fs } = system;
  const temporary = `${path}.${process.pid}.tmp`;
  try {
    const target = ownTarget(system, path);
    removeIfPresent(system, temporary);
    // Continues after a short write, which is what a full disk answers first.
    fs.writeFileSync(temporary, text, { flag: 'wx', mode: 0o600, flush: true });
    renameWithRetries(system, temporary, target);
  } catch (error) {
    try {
      removeIfPresent(system, temporary);
    } catch {
      // The first error is the one to report.
    }
    throw storageError(error, path, 'write');
  }
}

/** @returns whether there was such a file */
export function removeIfPresent({ fs }: SecureFileSystem, path: string): boolean {
  try {
    fs.unlinkSync(path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw storageError(error, path, 'remove');
  }
}

// On Windows a file cannot be replaced while another process, such as a virus scanner, has it open.
function renameWithRetries({ fs, uid, pause }: SecureFileSystem, from: string, to: string): void {
  for (let attempt = 1; ; attempt++) {
    try {
      fs.renameSync(from, to);
      return;
    } catch (error) {
      const busy = /^(?:EPERM|EACCES|EBUSY)$/.test((error as NodeJS.ErrnoException).code ?? '');
      if (uid !== undefined || !busy || attempt === RENAME_ATTEMPTS) throw error;
      pause(RENAME_PAUSE_MS);
    }
  }
}

// A symbolic link must not lead to where another user could exchange the file.
function ownTarget(system: SecureFileSystem, path: string): string {
  const { fs, uid } = system;
  const link = fs.lstatSync(path, { throwIfNoEntry: false });
  if (!link) return path;
  if (!link.isSymbolicLink()) {
    checkOwner(system, path, link);
    return path;
  }
  const hint = 'remove the link, or point it to a private file of your own';
  let target: string;
  try {
    target = fs.realpathSync(path);
  } catch {
    throw fileError(path, 'is a link to a missing file', hint);
  }
  const folder = fs.statSync(dirname(target));
  const own = uid === undefined || (fs.statSync(target).uid === uid && folder.uid === uid);
  if (own && (uid === undefined || (folder.mode & 0o022) === 0)) return target;
  throw fileError(path, 'is a link to a folder that others can write to', hint);
}

function checkOwner({ uid }: SecureFileSystem, path: string, stats: nodeFs.Stats): void {
  if (uid === undefined || stats.uid === uid) return;
  throw fileError(path, 'belongs to another user', 'set PETSTORE_CONFIG_DIR to a folder of your own');
}

/** For a file whose content cannot be used; its content is never quoted, since it may contain a key. */
export function damagedFile(path: string, what: string): PetstoreError {
  return fileError(path, what, 'the file was not changed; fix it or move it away and run `petstore auth login`');
}

function fileError(path: string, what: string, hint: string): PetstoreError {
  return new PetstoreError('storage', `${escapeControls(path)} ${what}`, { hint });
}

/** Wraps what the file system threw; a PetstoreError passes unchanged. */
export function storageError(error: unknown, path: string, verb: string): PetstoreError {
  if (error instanceof PetstoreError) return error;
  const code = (error as NodeJS.ErrnoException).code ?? 'unknown error';
  const message = `cannot ${verb} ${escapeControls(basename(path))} (${code}): ${escapeControls(path)}`;
  const hint = "check the folder's permissions and free space, or set PETSTORE_API_KEY and PETSTORE_BASE_URL";
  return new PetstoreError('storage', message, { hint, cause: error });
}

/** @returns the files in the folder; none where the folder is missing */
export function listDir({ fs }: SecureFileSystem, dir: string): readonly string[] {
  try {
    return fs.readdirSync(dir);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw storageError(error, dir, 'read');
  }
}

/** Removes temporary files of writes that were killed: each may contain a key. */
export function removeLeftovers(system: SecureFileSystem, dir: string): void {
  for (const name of listDir(system, dir)) {
    const pid = /\.json\.(\d+)\.tmp$/.exec(name)?.[1];
    if (pid !== undefined && !exists(Number(pid))) removeIfPresent(system, join(dir, name));
  }
}

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}
