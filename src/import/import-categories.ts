// The whole import of checked rows: the lock, the run, and its document or error. The command line and the library call it.
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { NewCategory } from '../api/types.ts';
import type { Clock } from '../clock.ts';
import { isSystemError, storageError, withDocument } from '../errors.ts';
import { mkdirAndPrune, RETENTION_MS } from '../settings/paths.ts';
import { FileLog } from '../shared-log/file-log.ts';
import type { Log } from '../shared-log/log.ts';
import type { ProcessRef } from '../shared-log/process-liveness.ts';
import { currentProcess, livenessOf } from '../shared-log/process-liveness.ts';
import type { StateServer } from '../shared-log/state-server.ts';
import { importError } from './import-error.ts';
import type { FetchListOptions, Pause } from './list.ts';
import type { LockContext } from './lock.ts';
import { CONFIRMED_WITHIN_MS, Lock } from './lock.ts';
import type { LockState } from './lock-format.ts';
import { LOCK_VERSION, lockFormat } from './lock-format.ts';
import type { ImportDocument, ImportResults } from './results.ts';
import { runImport } from './run.ts';

const ROTATE_AT_BYTES = 64 * 1024;
const ROTATE_AT_RECORDS = 1000;

/** Where a lock is kept: on a server, in a state directory, or in a log that belongs to the caller. */
export type LockPlace =
  | { readonly server: StateServer }
  | { readonly stateDir: string }
  | { readonly log: Log<LockState> };

/** How long and why an import pauses. */
export interface ImportPause {
  readonly until: number;
  readonly reason: Parameters<Pause>[1];
}

export interface ImportOptions {
  readonly categories: FetchListOptions['categories'];
  readonly rows: readonly NewCategory[];
  /** What only one import at a time may change: the base URL, or the sandbox's data. */
  readonly target: string;
  readonly lockPlace: LockPlace;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly concurrency: number;
  /** The maximum number of times that a name is sent again after a list proved its absence. */
  readonly maxRetries: number;
  readonly timeoutMs: number;
  /** Whether the quota allows one more request without a wait. */
  readonly hasQuota: () => boolean;
  readonly onProgress?: (counts: ImportResults['counts']) => void;
  /** Called at the beginning of each pause, and with undefined at its end; waits for the rate limit are not pauses. */
  readonly onPause?: (pause: ImportPause | undefined) => void;
  /** Called with the process whose import this one waits for. */
  readonly onBusy?: (holder: ProcessRef) => void;
}

/**
 * Creates a category for each name that the service does not list.
 * @throws PetstoreError; its `document` says what was done if anything may have been sent
 */
export async function importCategories(options: ImportOptions): Promise<ImportDocument> {
  const { target, lockPlace, clock, onProgress } = options;
  const lock = await openLock(target, lockPlace, clock);
  try {
    const { results, stop } = await runImport({
      ...options,
      lock,
      pause: pauseOf(options),
      onProgress: ({ counts }) => onProgress?.(counts),
    });
    const document = results.document();
    const error = importError(document, stop);
    if (error) throw withDocument(error, document);
    return document;
  } finally {
    // If the release cannot be recorded, the next run detects that this process has ended.
    await lock.close().catch(() => undefined);
  }
}

/** Waits by the clock, until the signal; reports each pause. */
export function pauseOf({ clock, signal, onPause }: Pick<ImportOptions, 'clock' | 'signal' | 'onPause'>): Pause {
  return async (ms, reason) => {
    if (ms <= 0) return;
    onPause?.({ until: clock.now() + ms, reason });
    await clock.sleep(ms, signal).finally(() => onPause?.(undefined));
  };
}

/**
 * @param identity the target of the import: the base URL, or the sandbox's data
 * @throws PetstoreError `storage`; the lock's methods also throw it, or `usage` if a server rejects the first script
 */
export async function openLock(identity: string, place: LockPlace, clock: Clock): Promise<Lock> {
  const own = { process: currentProcess(), livenessOf, isOnServer: false, toError: (error: unknown) => error };
  if ('log' in place) return new Lock(place.log, clock, own);
  const hash = createHash('sha256').update(identity).digest('hex').slice(0, 32);
  if ('stateDir' in place) return openFileLock(join(place.stateDir, 'imports'), hash, clock, own);
  const { server } = place;
  const { StreamLog } = await import('../shared-log/stream-log.ts');
  const key = `petstore:{${hash}}:import-${LOCK_VERSION}`;
  const limits = { ttlMs: RETENTION_MS, rotateAt: ROTATE_AT_RECORDS, freshMs: CONFIRMED_WITHIN_MS };
  const log = new StreamLog(lockFormat, { server, key, clock, ...limits });
  const toError = (error: unknown): unknown => server.toPetstoreError(error);
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
