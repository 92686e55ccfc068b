// Opens the log of a lock: a file on this machine, or a stream on a state server (docs/fleet.md).

import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { FileLog } from '../append-log/file-log.ts';
import type { StateServer } from '../append-log/state-server.ts';
import type { Clock } from '../clock.ts';
import { isSystemError, storageError } from '../errors.ts';
import { CONFIRMED_WITHIN_MS, Lock, lockFormat } from './lock.ts';

const ROTATE_AT_BYTES = 64 * 1024;
const ROTATE_AT_RECORDS = 1000;

interface LockPlace {
  readonly clock: Clock;
  /** Used if there is no server. */
  readonly stateDir: () => string;
  /** Closed by the caller. */
  readonly server?: StateServer | undefined;
  readonly onWarning?: (text: string) => void;
}

/**
 * @param identity the target of the import: the base URL, or the sandbox's data
 * @throws PetstoreError `storage`; the methods of the lock do so too, or `usage` if a server rejects its first script
 */
export async function openLock(identity: string, { server, stateDir, ...options }: LockPlace): Promise<Lock> {
  const name = createHash('sha256').update(identity).digest('hex').slice(0, 32);
  if (server) {
    const { StreamLog } = await import('../append-log/stream-log.ts');
    const place = {
      server,
      key: `petstore:{${name}}:import`,
      rotateAt: ROTATE_AT_RECORDS,
      freshMs: CONFIRMED_WITHIN_MS,
    };
    const log = new StreamLog(lockFormat, { ...options, ...place });
    return new Lock(log, options.clock, (error) => server.toPetstoreError(error));
  }
  const dir = join(stateDir(), 'imports');
  const toError = (error: unknown): unknown =>
    isSystemError(error) ? storageError(error, 'lock the import in', dir, 'PETSTORE_STATE_DIR') : error;
  try {
    return new Lock(new FileLog(lockFormat, { dir, name, rotateAtBytes: ROTATE_AT_BYTES }), options.clock, toError);
  } catch (error) {
    throw toError(error);
  }
}
