// Chooses the directory of a key's ledger: a local one, since network file systems have no atomic append.
import { createHash } from 'node:crypto';
import { existsSync, lstatSync, readdirSync, rmSync, statfsSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { mkdirp } from '../append-log/mkdirp.ts';
import { PetstoreError } from '../errors.ts';

// NFS, SMB (three dialects), 9p, AFS, Coda: O_APPEND is emulated there by a seek, so writers overwrite each other (open(2)).
const NETWORK_TYPES = new Set([0x6969, 0x517b, 0xff534d42, 0xfe534d42, 0x01021997, 0x5346414f, 0x73757245]);

const UNUSED_MS = 48 * 3_600_000;

/** Returns the number of a directory's file system type (statfs(2), f_type); injected in tests. */
export type FileSystemType = (dir: string) => number;

/**
 * Names a key's ledger by a hash, which reveals neither the key nor the base URL.
 * @param identity the base URL, or the sandbox's data
 */
export function ledgerName(identity: string, key: string): string {
  return createHash('sha256').update(`${identity}\0${key}`).digest('hex').slice(0, 32);
}

/**
 * Creates the directory of a ledger in the state directory or, if that is on a network file system, in the temporary directory.
 * @throws file system errors unchanged
 */
export function ledgerDirectory(
  stateDir: string,
  tempDir: string,
  name: string,
  typeOf: FileSystemType = fileSystemType,
): string {
  const wanted = join(stateDir, 'quota', name);
  makeLedger(wanted);
  if (process.platform !== 'linux' || !NETWORK_TYPES.has(typeOf(wanted) >>> 0)) return wanted;
  const mine = join(tempDir, `petstore-${process.getuid?.() ?? 'user'}`);
  mkdirp(mine);
  // Another user may have created that name in the shared temporary directory.
  const found = lstatSync(mine);
  if (!found.isDirectory() || (process.getuid && found.uid !== process.getuid()) || (found.mode & 0o022) !== 0) {
    throw new PetstoreError('storage', `${mine} is owned by another user`);
  }
  const dir = join(mine, 'quota', name);
  makeLedger(dir);
  return dir;
}

// Before one more ledger is created, removes those that were not used for 48 hours: a rotating key has one for each token.
function makeLedger(dir: string): void {
  if (existsSync(dir)) return;
  mkdirp(dir);
  const oldest = statSync(dir).mtimeMs - UNUSED_MS;
  for (const name of readdirSync(dirname(dir))) removeUnused(join(dirname(dir), name), oldest);
}

function removeUnused(ledger: string, oldest: number): void {
  try {
    const files = readdirSync(ledger).map((name) => join(ledger, name));
    // Another process has just created an empty one.
    if (files.length === 0 || files.some((file) => statSync(file).mtimeMs >= oldest)) return;
    rmSync(ledger, { recursive: true });
  } catch {
    // Another process removes it, or it is not a directory.
  }
}

function fileSystemType(dir: string): number {
  return Number(statfsSync(dir).type);
}
