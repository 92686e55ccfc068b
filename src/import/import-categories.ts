// The whole import of checked rows: the lock, the run, and its document or error. The command line and the library call it.
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Clock } from '../clock.ts';
import { isSystemError, PetstoreError, storageError } from '../errors.ts';
import type { ImportDocument, ImportOptions, ImportRows, Wait } from '../public-types.ts';
import { checkListener, checkWholeNumber } from '../settings/check-options.ts';
import { mkdirAndPrune, RETENTION_MS } from '../settings/paths.ts';
import { FileLog } from '../shared-log/file-log.ts';
import { MemoryLog } from '../shared-log/log.ts';
import { observeProcesses } from '../shared-log/process-liveness.ts';
import type { StateServer } from '../shared-log/state-server.ts';
import { importError } from './import-error.ts';
import type { Pause } from './list.ts';
import type { LockContext } from './lock.ts';
import { CONFIRMED_WITHIN_MS, Lock } from './lock.ts';
import type { LockState } from './lock-format.ts';
import { LOCK_VERSION, lockFormat } from './lock-format.ts';
import { checkRows } from './row-validator.ts';
import { differingDescriptionsWarning, rowWarnings } from './row-warnings.ts';
import type { RunOptions } from './run.ts';
import { runImport } from './run.ts';

const ROTATE_AT_BYTES = 64 * 1024;
const ROTATE_AT_RECORDS = 1000;

/** Where a lock is kept: on a server, in a state directory, or, if null, in memory. */
export type LockPlace = StateServer | string | null;

export interface ImportParameters extends Omit<RunOptions, 'lock' | 'pause'> {
  /** The target, which one import at a time may use: the base URL, or the sandbox's data. */
  readonly target: string;
  readonly lockPlace: LockPlace;
  readonly clock: Clock;
  readonly warn: (text: string) => void;
  /** Called at the beginning of each pause, and with undefined at its end; waits for the rate limit are not pauses. */
  readonly onPause?: (pause: Wait | undefined) => void;
}

/**
 * Creates a category for each name that the service does not list.
 * @throws PetstoreError; with a `document` if a create may have been sent
 */
export async function importCategories(options: ImportParameters): Promise<ImportDocument> {
  const { target, lockPlace, clock, warn } = options;
  const lock = await openLock(target, lockPlace, clock);
  try {
    const { results, stop } = await runImport({ ...options, lock, pause: pauseOf(options) });
    const document = results.document();
    const warning = differingDescriptionsWarning(document);
    if (warning) warn(warning);
    const error = importError(document, stop);
    if (error) throw new PetstoreError(error.kind, error.message, { ...error.details, document });
    return document;
  } finally {
    // If the release cannot be recorded, the next run waits until it sees that this process has ended.
    await lock.close().catch(() => undefined);
  }
}

/** Returns a function that reports each pause, waits, and rejects if the signal is aborted. */
export function pauseOf({ clock, signal, onPause }: Pick<ImportParameters, 'clock' | 'signal' | 'onPause'>): Pause {
  return async (ms, reason) => {
    if (ms <= 0) return;
    onPause?.({ until: clock.now() + ms, reason });
    await clock.sleep(ms, signal).finally(() => onPause?.(undefined));
  };
}

/** The options of an import that the client sets, not the program that calls it. */
interface ClientContext extends Omit<ImportParameters, 'rows' | 'lockPlace' | 'concurrency' | 'onProgress' | 'onBusy'> {
  /** Undefined if there is no home directory. */
  readonly lockPlace: LockPlace | undefined;
}

/**
 * Imports the rows of a program.
 * @throws PetstoreError `usage` for invalid rows or options, `storage` without a home directory; otherwise as `importCategories`
 */
export async function importRows(
  given: ImportRows,
  { concurrency = 8, onProgress }: ImportOptions,
  context: ClientContext,
): Promise<ImportDocument> {
  const checked = {
    concurrency: checkWholeNumber(concurrency, 'concurrency', 1, 64),
    onProgress: checkListener(onProgress, 'onProgress'),
  };
  const rows = await readRows(given, context.signal);
  const { lockPlace } = context;
  if (lockPlace === undefined)
    throw new PetstoreError('storage', 'cannot determine the home directory', { hint: 'set stateDir' });
  for (const warning of rowWarnings(rows)) context.warn(warning);
  return importCategories({
    ...context,
    ...checked,
    rows,
    lockPlace,
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

/** By target. Kept when a client is closed: the service may still process the creates of an import that was aborted. */
const locksInMemory = new Map<string, MemoryLog<LockState>>();

/**
 * @param identity the target of the import: the base URL, or the sandbox's data
 * @throws PetstoreError `storage`; the lock's methods also throw `storage`, or `usage` if a server rejects the first script
 */
export async function openLock(identity: string, place: LockPlace, clock: Clock): Promise<Lock> {
  const { self, livenessOf } = observeProcesses();
  const own = { process: self, livenessOf, isOnServer: false, toError: (error: unknown) => error };
  if (place === null) {
    const log = locksInMemory.get(identity) ?? new MemoryLog(lockFormat);
    locksInMemory.set(identity, log);
    return new Lock(log, clock, own);
  }
  const hash = createHash('sha256').update(identity).digest('hex').slice(0, 32);
  if (typeof place === 'string') return openFileLock(join(place, 'imports'), hash, clock, own);
  const { StreamLog } = await import('../shared-log/stream-log.ts');
  const key = `petstore:{${hash}}:import-${LOCK_VERSION}`;
  const limits = { ttlMs: RETENTION_MS, rotateAt: ROTATE_AT_RECORDS, freshMs: CONFIRMED_WITHIN_MS };
  const log = new StreamLog(lockFormat, { server: place, key, clock, ...limits });
  const toError = (error: unknown): unknown => place.toPetstoreError(error);
  return new Lock(log, clock, { ...own, isOnServer: true, toError });
}

function openFileLock(dir: string, hash: string, clock: Clock, own: LockContext): Lock {
  const toError = (error: unknown): unknown =>
    isSystemError(error) ? storageError(error, 'lock the import in', dir) : error;
  try {
    const file = { dir: join(dir, hash), name: `lock-${LOCK_VERSION}`, rotateAtBytes: ROTATE_AT_BYTES, clock };
    mkdirAndPrune(file.dir);
    return new Lock(new FileLog(lockFormat, file), clock, { ...own, toError });
  } catch (error) {
    throw toError(error);
  }
}
