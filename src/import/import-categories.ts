// The whole import of checked rows: the lock, the run, and its document or error. The command line and the library call it.
import type { NewCategory } from '../api/types.ts';
import type { Clock } from '../clock.ts';
import { withDocument } from '../errors.ts';
import type { ProcessRef } from '../shared-log/process-liveness.ts';
import { importError } from './import-error.ts';
import type { FetchListOptions, Pause } from './list.ts';
import type { LockPlace } from './lock.ts';
import { openLock } from './lock.ts';
import type { ImportDocument, ImportResults } from './results.ts';
import { runImport } from './run.ts';

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
