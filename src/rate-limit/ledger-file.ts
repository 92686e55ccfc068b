// This machine's file of a ledger.
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { LogOptions } from '../append-log/file-log.ts';
import { mkdirSwept } from '../append-log/mkdirp.ts';
import type { LogFs } from '../append-log/segments.ts';
import { LEDGER_VERSION } from './rules.ts';

export interface LedgerFileOptions {
  /** Undefined if there is no home directory; null keeps the ledger in memory. */
  readonly stateDir: string | undefined | null;
  /** The base URL, or the sandbox's data: with the key it names the ledger. */
  readonly baseUrl: string;
  readonly key: string;
  readonly fs?: LogFs;
}

// Keeps the file small, because every process reads it whole at start.
const ROTATE_AT_BYTES = 48 * 1024;

/**
 * Creates the directory of the ledger.
 * @throws file system errors unchanged
 */
export function ledgerFile(options: LedgerFileOptions): LogOptions {
  const { stateDir, fs } = options;
  if (!stateDir) throw Object.assign(new Error('there is no home directory'), { code: 'ENOENT' });
  const dir = join(stateDir, 'quota', ledgerName(options));
  // A rotating key has one ledger for each token.
  mkdirSwept(dir);
  return { dir, name: `ledger-${LEDGER_VERSION}`, rotateAtBytes: ROTATE_AT_BYTES, fs };
}

/** Names a key's ledger by a hash, which reveals neither the key nor the base URL. */
export function ledgerName({ baseUrl, key }: Pick<LedgerFileOptions, 'baseUrl' | 'key'>): string {
  return createHash('sha256').update(`${baseUrl}\0${key}`).digest('hex').slice(0, 32);
}
