// This machine's own log of a ledger: a file.
import { FileLog } from '../append-log/file-log.ts';
import type { LogFs } from '../append-log/generations.ts';
import type { Log } from '../append-log/log.ts';
import { systemReason } from '../system-error.ts';
import { ledgerFormat } from './ledger-format.ts';
import type { FileSystemType } from './paths.ts';
import { ledgerDirectory, ledgerName } from './paths.ts';
import type { KeyState } from './policy.ts';
import { LEDGER_VERSION } from './rules.ts';

export interface OwnLogOptions {
  /** Undefined if there is no home directory. */
  readonly stateDir: string | undefined;
  readonly tempDir: string;
  /** The base URL, or the sandbox's data: with the key it names the ledger. */
  readonly identity: string;
  readonly key: string;
  readonly typeOf?: FileSystemType;
  readonly fs?: LogFs;
}

// Keeps the file small, because every process reads it whole at start.
const ROTATE_AT_BYTES = 32 * 1024;

/** @throws file system errors unchanged; PetstoreError `storage` */
export function openOwnLog({ stateDir, tempDir, identity, key, typeOf, fs }: OwnLogOptions): Log<KeyState> {
  if (stateDir === undefined) throw Object.assign(new Error('there is no home directory'), { code: 'ENOENT' });
  const dir = ledgerDirectory(stateDir, tempDir, ledgerName(identity, key), typeOf);
  return new FileLog(ledgerFormat, { dir, name: `ledger-${LEDGER_VERSION}`, rotateAtBytes: ROTATE_AT_BYTES, fs });
}

export function unsharedWarning({ stateDir }: OwnLogOptions, error: unknown): string {
  const problem =
    stateDir === undefined
      ? 'cannot determine the home directory'
      : `cannot write to ${stateDir} (${systemReason(error)})`;
  return `${problem}; the rate limit is not shared with other processes`;
}
