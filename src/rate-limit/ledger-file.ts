// This machine's file of a ledger.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { LogOptions } from '../append-log/file-log.ts';
import type { LogFs } from '../append-log/generations.ts';
import { mkdirp } from '../append-log/mkdirp.ts';
import { systemReason } from '../errors.ts';
import { LEDGER_VERSION } from './rules.ts';

export interface LedgerFileOptions {
  /** Undefined if there is no home directory. */
  readonly stateDir: string | undefined;
  /** The base URL, or the sandbox's data: with the key it names the ledger. */
  readonly identity: string;
  readonly key: string;
  readonly fs?: LogFs;
}

// Keeps the file small, because every process reads it whole at start.
const ROTATE_AT_BYTES = 48 * 1024;
const UNUSED_MS = 48 * 3_600_000;

/**
 * Creates the directory of the ledger.
 * @throws file system errors unchanged
 */
export function ledgerFile(options: LedgerFileOptions): LogOptions {
  const { stateDir, fs } = options;
  if (stateDir === undefined) throw Object.assign(new Error('there is no home directory'), { code: 'ENOENT' });
  const dir = join(stateDir, 'quota', ledgerName(options));
  makeLedger(dir);
  return { dir, name: `ledger-${LEDGER_VERSION}`, rotateAtBytes: ROTATE_AT_BYTES, fs };
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
