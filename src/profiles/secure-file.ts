// Small private files: read with their rights checked, written whole or not at all.
import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { dirname, join } from 'node:path';
import { ownPid } from './own-process.ts';
import type { PrivateFolder, PrivateFs } from './secure-folder.ts';
import { asStorage, checkLink, checkOwner, damaged, ensurePrivateFolder, refusal, sweep } from './secure-folder.ts';

/** Larger is no file of ours; in bytes. */
const LARGEST = 1024 * 1024;
/**
 * Reads a private file; wider rights than 0600 are taken away first.
 * @param folder where it lives
 * @param name its name there
 * @returns its text; undefined where there is none
 * @throws PetstoreError `storage` where it cannot be read, belongs to somebody else, or is no regular file
 */
export function readPrivate(folder: PrivateFolder, name: string): string | undefined {
  const { fs } = folder;
  const path = join(folder.dir, name);
  try {
    checkLink(folder, path);
    // Not to hang where somebody put a FIFO there.
    const fd = fs.openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    try {
      const facts = fs.fstatSync(fd);
      if (!facts.isFile()) throw refusal(path, 'is no regular file', 'move it away, then log in again');
      checkOwner(folder, path, facts);
      if (facts.size > LARGEST) throw damaged(path, 'is far too large');
      if (folder.uid !== undefined && (facts.mode & 0o077) !== 0) fs.fchmodSync(fd, 0o600);
      const text = new TextDecoder('utf-8', { fatal: true }).decode(fs.readFileSync(fd));
      return text;
    } finally {
      fs.closeSync(fd);
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    if ((error as NodeJS.ErrnoException).code === 'ERR_ENCODING_INVALID_ENCODED_DATA') {
      throw damaged(path, 'is not UTF-8 text');
    }
    throw asStorage(error, path, 'read');
  }
}

/**
 * Writes a private file: the old one stays until the new one is on the disk, whole, with rights 0600.
 * @param folder where it lives; made 0700 where it is missing or wider
 * @param name its name there
 * @param text its new content
 * @throws PetstoreError `storage`; the old file is then as it was
 */
export function writePrivate(folder: PrivateFolder, name: string, text: string): void {
  const { fs } = folder;
  ensurePrivateFolder(folder);
  const path = join(folder.dir, name);
  try {
    const target = checkLink(folder, path);
    replace(fs, target, Buffer.from(text));
    syncFolder(folder, dirname(target));
    sweep(folder);
  } catch (error) {
    throw asStorage(error, path, 'written');
  }
}

/**
 * @param folder where it lives
 * @param name a file's name there
 * @returns whether there was one
 * @throws PetstoreError `storage` where it cannot be removed
 */
export function removePrivate(folder: PrivateFolder, name: string): boolean {
  const path = join(folder.dir, name);
  try {
    folder.fs.unlinkSync(path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw asStorage(error, path, 'removed');
  }
}

function replace(fs: PrivateFs, target: string, bytes: Buffer): void {
  const draft = `${target}.tmp-${ownPid}-${randomUUID()}`;
  const fd = fs.openSync(draft, 'wx', 0o600);
  try {
    try {
      writeWhole(fs, fd, bytes);
    } finally {
      fs.closeSync(fd);
    }
    fs.renameSync(draft, target);
  } catch (error) {
    removeQuietly(fs, draft);
    throw error;
  }
}

function writeWhole(fs: PrivateFs, fd: number, bytes: Buffer): void {
  // A short write is no error to the system: the rest of a full disk's last page.
  for (let done = 0; done < bytes.length; ) {
    const count = fs.writeSync(fd, bytes, done, bytes.length - done);
    if (count <= 0) throw Object.assign(new Error('short write'), { code: 'ENOSPC' });
    done += count;
  }
  fs.fchmodSync(fd, 0o600);
  fs.fsyncSync(fd);
  if (fs.fstatSync(fd).size !== bytes.length) throw Object.assign(new Error('short file'), { code: 'ENOSPC' });
}

function syncFolder(folder: PrivateFolder, dir: string): void {
  if (folder.uid === undefined) return;
  const fd = folder.fs.openSync(dir, 'r');
  try {
    folder.fs.fsyncSync(fd);
  } finally {
    folder.fs.closeSync(fd);
  }
}

function removeQuietly(fs: PrivateFs, path: string): void {
  try {
    fs.unlinkSync(path);
  } catch {
    // It was never made, or the disk refuses that too: the next write sweeps it.
  }
}
