// The import of a program's rows, for the client library.
import { once } from 'node:events';
import type { ImportDocument, ImportOptions, ImportProgress, ImportRows } from '../client-types.ts';
import { PetstoreError } from '../errors.ts';
import { checkListener, checkWholeNumber } from '../settings/check-options.ts';
import { MemoryLog } from '../shared-log/log.ts';
import type { StateServer } from '../shared-log/state-server.ts';
import type { ImportOptions as AllOptions, LockPlace } from './import-categories.ts';
import { importCategories } from './import-categories.ts';
import type { LockState } from './lock-format.ts';
import { lockFormat } from './lock-format.ts';
import { checkRows } from './row-validator.ts';

interface Context extends Omit<AllOptions, 'rows' | 'lockPlace' | 'concurrency' | 'onProgress' | 'onBusy'> {
  /** Null: in memory; undefined if there is no home directory. */
  readonly stateDir: string | null | undefined;
  readonly openStateServer: (() => Promise<StateServer>) | undefined;
  readonly warn: (text: string) => void;
}

/** @throws PetstoreError: `usage` for invalid rows or options, otherwise as `importCategories` does */
export async function importRows(
  given: ImportRows,
  { concurrency: requests = 8, onProgress }: ImportOptions,
  context: Context,
): Promise<ImportDocument> {
  const concurrency = checkWholeNumber(requests, 'concurrency', 1, 64);
  const report = checkListener<ImportProgress>(onProgress, 'onProgress');
  const rows = await readRows(given, context.signal);
  const total = new Set(rows.map(({ name }) => name)).size;
  return importCategories({
    ...context,
    rows,
    lockPlace: await findLockPlace(context),
    concurrency,
    onProgress({ created, exists: skipped, failed, unknown }) {
      report({ created, skipped, failed, unknown, pending: total - created - skipped - failed - unknown });
    },
    onBusy({ pid, host }) {
      context.warn(`waiting for another import to finish (PID ${pid} on ${host.split(' ')[0]})`);
    },
  });
}

// An iterable of the program may throw anything, or never end.
async function readRows(rows: ImportRows, signal: AbortSignal) {
  const aborted = once(signal, 'abort').then((): never => {
    throw signal.reason;
  });
  try {
    signal.throwIfAborted();
    return await Promise.race([checkRows(rows), aborted]);
  } catch (error) {
    if (error instanceof PetstoreError) throw error;
    throw new PetstoreError('usage', 'the rows cannot be read', { cause: error });
  }
}

/** By base URL. Kept when a client is closed: the service may still process the creates of an import that was aborted. */
const locksInMemory = new Map<string, MemoryLog<LockState>>();

async function findLockPlace({ stateDir, openStateServer, target }: Context): Promise<LockPlace> {
  if (openStateServer) return { server: await openStateServer() };
  if (stateDir) return { stateDir };
  if (stateDir === null) {
    const log = locksInMemory.get(target) ?? new MemoryLog(lockFormat);
    locksInMemory.set(target, log);
    return { log };
  }
  throw new PetstoreError('storage', 'cannot determine the home directory', { hint: 'set stateDir' });
}
