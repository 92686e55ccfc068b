// Opens the log of a lock: a file on this machine, or a stream on a state server (docs/fleet.md).
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { FileLog } from '../append-log/file-log.ts';
import type { LogFs } from '../append-log/generations.ts';
import type { Log } from '../append-log/log.ts';
import { tryParseJson } from '../append-log/record-shape.ts';
import type { StateServer } from '../append-log/state-server.ts';
import type { Clock } from '../clock.ts';
import { PetstoreError, rephrase } from '../errors.ts';
import { escapeControls } from '../escape.ts';
import { systemReason } from '../system-error.ts';
import type { LockState } from './lock.ts';
import { CONFIRMED_WITHIN_MS, lockFormat } from './lock.ts';

const ROTATE_AT_BYTES = 64 * 1024;
const ROTATE_AT_RECORDS = 1000;

/**
 * @param identity the target of the import: the base URL, or the sandbox's data
 * @throws PetstoreError `storage`
 */
export function openFileLock(stateDir: string, identity: string, fs?: LogFs): Log<LockState> {
  const dir = join(stateDir, 'imports');
  const toError = (error: unknown): unknown => storageError(error, escapeControls(dir));
  try {
    const log = new FileLog(lockFormat, { dir, name: nameOf(identity), rotateAtBytes: ROTATE_AT_BYTES, fs });
    return withErrors(log, toError, () => log.close());
  } catch (error) {
    throw toError(error);
  }
}

/**
 * @param identity the target of the import: the base URL
 * @param server is closed with the log; all methods reject with PetstoreError `storage` or `usage`
 */
export async function openServerLock(
  identity: string,
  server: StateServer,
  options: { readonly clock: Clock; readonly onWarning: (text: string) => void },
): Promise<Log<LockState>> {
  const { StreamLog } = await import('../append-log/stream-log.ts');
  const log = new StreamLog(lockFormat, {
    ...options,
    server,
    key: `petstore:{${nameOf(identity)}}:import`,
    rotateAt: ROTATE_AT_RECORDS,
    recentMs: CONFIRMED_WITHIN_MS,
    stamp: (record, at) => JSON.stringify({ ...(tryParseJson(record) as object), at }),
  });
  return withErrors(
    log,
    (error) => server.toPetstoreError(error),
    () => server.close(),
  );
}

function nameOf(identity: string): string {
  return createHash('sha256').update(identity).digest('hex').slice(0, 32);
}

function withErrors(log: Log<LockState>, toError: (error: unknown) => unknown, close: () => void): Log<LockState> {
  const guarded = async <T>(use: () => T | Promise<T>): Promise<T> => {
    try {
      return await use();
    } catch (error) {
      throw toError(error);
    }
  };
  return {
    last: () => log.last(),
    recent() {
      try {
        return log.recent();
      } catch (error) {
        throw toError(error);
      }
    },
    refresh: () => guarded(() => log.refresh()),
    append: (record) => guarded(() => log.append(record)),
    close,
  };
}

function storageError(error: unknown, dir: string): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (error instanceof PetstoreError) return rephrase(error, `cannot lock the import: ${error.message}`);
  if (typeof code !== 'string') return error;
  return new PetstoreError('storage', `cannot lock the import in ${dir} (${systemReason(error)})`, {
    hint: "check the directory's permissions and free space",
    cause: error,
  });
}
