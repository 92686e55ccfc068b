// This machine's file of a ledger, in a local directory, since network file systems have no atomic append.
import { createHash } from 'node:crypto';
import { existsSync, lstatSync, readdirSync, rmSync, statfsSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { LogOptions } from '../append-log/file-log.ts';
import type { LogFs } from '../append-log/generations.ts';
import { mkdirp } from '../append-log/mkdirp.ts';
import { PetstoreError, systemReason } from '../errors.ts';
import { LEDGER_VERSION } from './rules.ts';

export interface LedgerFileOptions {
  /** Undefined if there is no home directory. */
  readonly stateDir: string | undefined;
  readonly tempDir: string;
  /** The base URL, or the sandbox's data: with the key it names the ledger. */
  readonly identity: string;
  readonly key: string;
  /** Returns the number of a directory's file system type (statfs(2), f_type); injected in tests. */
  readonly typeOf?: (dir: string) => number;
  readonly fs?: LogFs;
}

// Keeps the file small, because every process reads it whole at start.
const ROTATE_AT_BYTES = 48 * 1024;
// NFS, SMB (three dialects), 9p, AFS, Coda: O_APPEND is emulated there by a seek, so writers overwrite each other (open(2)).
const NETWORK_TYPES = new Set([0x6969, 0x517b, 0xff534d42, 0xfe534d42, 0x01021997, 0x5346414f, 0x73757245]);
const UNUSED_MS = 48 * 3_600_000;

/**
 * Creates the directory of the ledger.
 * @throws file system errors unchanged; PetstoreError `storage`
 */
export function ledgerFile(options: LedgerFileOptions): LogOptions {
  const dir = ledgerDirectory(options);
  return { dir, name: `ledger-${LEDGER_VERSION}`, rotateAtBytes: ROTATE_AT_BYTES, fs: options.fs };
}

export function unsharedWarning({ stateDir }: LedgerFileOptions, error: unknown): string {
  const problem =
    stateDir === undefined
      ? 'cannot determine the home directory'
      : `cannot write to ${stateDir} (${systemReason(error)})`;
  return `${problem}; the rate limit is not shared with other processes`;
}

/** Names a key's ledger by a hash, which reveals neither the key nor the base URL. */
export function ledgerName({ identity, key }: Pick<LedgerFileOptions, 'identity' | 'key'>): string {
  return createHash('sha256').update(`${identity}\0${key}`).digest('hex').slice(0, 32);
}

// In the state directory or, if that is on a network file system, in the temporary directory.
function ledgerDirectory(options: LedgerFileOptions): string {
  const { stateDir, tempDir, typeOf = fileSystemType } = options;
  if (stateDir === undefined) throw Object.assign(new Error('there is no home directory'), { code: 'ENOENT' });
  const name = ledgerName(options);
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
