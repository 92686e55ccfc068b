// Opens the log of a lock: a file on this machine, or a stream on a state server (docs/fleet.md).
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { FileLog } from '../append-log/file-log.ts';
import type { StateServer } from '../append-log/state-server.ts';
import type { Clock } from '../clock.ts';
import { isSystemError, storageError } from '../system-error.ts';
import { CONFIRMED_WITHIN_MS, Lock, lockFormat } from './lock.ts';

const ROTATE_AT_BYTES = 64 * 1024;
const ROTATE_AT_RECORDS = 1000;

/**
 * @param identity the target of the import: the base URL, or the sandbox's data
 * @throws PetstoreError `storage`
 */
export function openFileLock(stateDir: string, identity: string, clock: Clock): Lock {
  const dir = join(stateDir, 'imports');
  const toError = (error: unknown): unknown =>
    isSystemError(error) ? storageError(error, 'lock the import in', dir, 'PETSTORE_STATE_DIR') : error;
  try {
    const log = new FileLog(lockFormat, { dir, name: nameOf(identity), rotateAtBytes: ROTATE_AT_BYTES });
    return new Lock(log, clock, toError);
  } catch (error) {
    throw toError(error);
  }
}

/** The lock on a server that the caller closes; its methods reject with PetstoreError `storage` or `usage`. */
export async function openServerLock(
  identity: string,
  server: StateServer,
  options: { readonly clock: Clock; readonly onWarning: (text: string) => void },
): Promise<Lock> {
  const { StreamLog } = await import('../append-log/stream-log.ts');
  const log = new StreamLog(lockFormat, {
    ...options,
    server,
    key: `petstore:{${nameOf(identity)}}:import`,
    rotateAt: ROTATE_AT_RECORDS,
    freshMs: CONFIRMED_WITHIN_MS,
  });
  return new Lock(log, options.clock, (error) => server.toPetstoreError(error));
}

function nameOf(identity: string): string {
  return createHash('sha256').update(identity).digest('hex').slice(0, 32);
}
