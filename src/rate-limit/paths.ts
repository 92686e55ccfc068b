// Where a key's ledger lies, and whether a folder keeps the promise that appended records never mix.
import { createHash } from 'node:crypto';
import { lstatSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { mkdirp } from '../append-log/mkdirp.ts';

// NFS, SMB (three dialects), 9p, AFS, Coda: O_APPEND is emulated there by a seek, so writers overwrite each other (open(2)).
const NETWORK_TYPES = new Set([0x6969, 0x517b, 0xff534d42, 0xfe534d42, 0x01021997, 0x5346414f, 0x73757245]);

/** What tells file system types apart; tests hand in their own. */
export type FileSystemType = (dir: string) => number;

/**
 * Names a key's folder, by a hash: neither the key nor the address can be read from it.
 * @param identity what the quota belongs to besides the key: the base URL, or the sandbox's data
 */
export function ledgerName(identity: string, key: string): string {
  return createHash('sha256').update(`${identity}\0${key}`).digest('hex').slice(0, 32);
}

/**
 * Finds a local folder for the ledger: under the state folder, or in the temporary folder where that is on a network.
 * @param typeOf the number of a folder's file system (statfs(2), f_type)
 * @throws errors of the file system as they come
 */
export function ledgerFolder(
  stateDir: string,
  tempDir: string,
  name: string,
  typeOf: FileSystemType = fileSystemType,
): string {
  const wanted = join(stateDir, 'quota', name);
  mkdirp(wanted);
  if (process.platform !== 'linux' || !NETWORK_TYPES.has(typeOf(wanted) >>> 0)) return wanted;
  const mine = join(tempDir, `petstore-${process.getuid?.() ?? 'user'}`);
  mkdirp(mine);
  // Anybody may have made that name in the common temporary folder before us.
  const found = lstatSync(mine);
  if (!found.isDirectory() || (process.getuid && found.uid !== process.getuid()) || (found.mode & 0o022) !== 0) {
    throw new Error(`${mine} belongs to somebody else`);
  }
  const folder = join(mine, 'quota', name);
  mkdirp(folder);
  return folder;
}

function fileSystemType(dir: string): number {
  return Number(statfsSync(dir).type);
}
