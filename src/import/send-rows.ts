// Sends rows with several workers; the journal is always one record ahead of the request.
import type { Category, NewCategory } from '../api/types.ts';
import { PetstoreError } from '../errors.ts';
import { statusTraits } from '../http/retry.ts';
import { TransportError } from '../http/types.ts';
import type { ImportState } from './import-state.ts';
import { toPetstoreError } from './import-state.ts';
import type { RowEvent } from './journal-record.ts';

/**
 * Sends until the queue is empty, the run ends, or too many responses in a row are lost.
 * @returns true where responses were lost: then a look-up should come before more is sent
 */
export async function sendRows(state: ImportState): Promise<boolean> {
  const { concurrency } = state.options;
  let lostInARow = 0;
  const broken = (): boolean => lostInARow >= Math.max(concurrency, 4);
  const worker = async (): Promise<void> => {
    while (!state.stop && !broken()) {
      const row = state.queue.pop();
      if (row === undefined) return;
      try {
        lostInARow = (await sendRow(state, row)) ? 0 : lostInARow + 1;
      } catch (error) {
        state.end(error);
      }
      state.options.onProgress(state.results);
    }
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
  return broken();
}

// Returns false where the response was lost.
async function sendRow(state: ImportState, row: number): Promise<boolean> {
  const { rows, journal, signal, categories } = state.options;
  signal.throwIfAborted();
  if ((await journal.record('send', row)) !== 'sending') {
    state.adoptJournal();
    return true;
  }
  let category: Category;
  try {
    signal.throwIfAborted();
    category = await categories.create(rows[row] as NewCategory, () => journal.assertHeld());
  } catch (error) {
    return recordFailure(state, row, error);
  }
  state.markCreated(row, category);
  // Where the journal cannot record it, the next run finds the category by a look-up.
  await journal.record('created', row, String(category.id));
  return true;
}

async function recordFailure(state: ImportState, row: number, error: unknown): Promise<boolean> {
  const { event, stop } = classifyError(error, state.options.signal.reason);
  if (stop) state.end(error);
  if (event === 'failed') state.results.set(row, { state: 'failed', error: toPetstoreError(error) });
  const lost = event === 'lost' || event === 'timeout';
  if (lost) state.markUnknown(row, event === 'timeout');
  await state.options.journal.record(event, row);
  return !lost;
}

/** What a failed create means for its row, and whether the next row would fare no better. */
export interface ErrorClass {
  readonly event: Extract<RowEvent, 'failed' | 'unsent' | 'lost' | 'timeout'>;
  readonly stop: boolean;
}

/** @param interruption the reason of the run's signal, if it was aborted: thrown as it is, nothing was sent */
export function classifyError(error: unknown, interruption?: unknown): ErrorClass {
  if (!(error instanceof PetstoreError)) return { event: 'lost', stop: true };
  const { kind, status } = error;
  if (kind === 'rejected') return { event: 'failed', stop: !statusTraits(status ?? 0).rowSpecific };
  if (kind === 'unknown_outcome') return { event: timedOut(error) ? 'timeout' : 'lost', stop: false };
  // Never processed: the key was refused, the quota is exhausted, the connection was not made, the lock is lost.
  if (['auth', 'rate_limited', 'network', 'storage'].includes(kind)) return { event: 'unsent', stop: true };
  const unsent = kind === 'interrupted' ? error === interruption : kind === 'service' && status === undefined;
  return { event: unsent ? 'unsent' : 'lost', stop: true };
}

function timedOut({ status, cause }: PetstoreError): boolean {
  return statusTraits(status ?? 0).slow === true || (cause instanceof TransportError && cause.reason === 'timeout');
}
