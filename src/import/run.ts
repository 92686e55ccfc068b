// One run of an import: a list first, then rows sent and unknown ones looked up until every row is decided.
import type { Category, NewCategory } from '../api/types.ts';
import { PetstoreError } from '../errors.ts';
import { statusTraits } from '../http/retry.ts';
import { TransportError } from '../http/types.ts';
import type { RunOptions } from './import-state.ts';
import { ImportState, toPetstoreError } from './import-state.ts';
import type { RowEvent } from './journal-record.ts';
import { completeList, findLateDuplicates, lookUp, missingFromList, withdrawClaimed } from './lookup.ts';
import type { ImportResults } from './results.ts';

export interface RunResult {
  readonly results: ImportResults;
  /** Why it ended before every row was decided; undefined where it did not. */
  readonly stop: PetstoreError | undefined;
  /** Categories that may exist twice: a row was sent again, and its first request was processed late. */
  readonly duplicates: readonly Category[];
}

/**
 * Creates every row that the journal does not record as created.
 * @throws PetstoreError where nothing was sent and there is nothing to report per row
 */
export async function runImport(options: RunOptions): Promise<RunResult> {
  const state = new ImportState(options);
  // The run before may have ended between a find and the look at the other imports.
  const found = [...options.journal.state.rows].filter(([, entry]) => entry.found).map(([row]) => row);
  await withdrawClaimed(state, found);
  const listed = await firstList(state);
  if (state.stop) return { results: state.results, stop: state.stop, duplicates: [] };
  await plan(state, listed);
  try {
    await sendAll(state);
    if (state.results.complete) await options.journal.recordFinished();
  } catch (error) {
    state.end(error);
  }
  return { results: state.results, stop: state.stop, duplicates: state.stop ? [] : await findLateDuplicates(state) };
}

async function firstList(state: ImportState): Promise<readonly Category[]> {
  const { rows, journal, skipExisting } = state.options;
  const { baseline, owners } = journal.state;
  // Before the first row is sent a newer baseline is the better one.
  const isKnown = baseline !== undefined && journal.state.rows.size > 0;
  const isNeeded = !isKnown || skipExisting || owners.size > 0;
  if (rows.length === 0 || !isNeeded) return [];
  try {
    const listed = await completeList(state.options, () => owners.keys());
    if (!listed) throw missingFromList(owners.size);
    if (!isKnown) await journal.recordBaseline(listed.map(({ id }) => String(id)));
    return listed;
  } catch (error) {
    const answered = error instanceof PetstoreError && ['auth', 'service', 'rejected'].includes(error.kind);
    if (!answered) throw error;
    state.end(error);
    return [];
  }
}

async function plan(state: ImportState, listed: readonly Category[]): Promise<void> {
  const { skipExisting, onPlan, onProgress, journal } = state.options;
  // The name of an unknown row may be its own: decided first, it does not count as existing.
  if (skipExisting) await lookUp(state);
  const { send, existing } = state.results.plan(listed, skipExisting);
  state.queue = send.reverse();
  await onPlan({ send: send.length, existing, resumed: journal.state.owners.size });
  onProgress(state.results);
}

async function sendAll(state: ImportState): Promise<void> {
  const { maxRetries } = state.options;
  for (let roundsWithoutProgress = 0; !state.stop; ) {
    const before = state.results.created;
    const broken = await sendRows(state);
    if (state.stop) return;
    await lookUp(state);
    if (state.queue.length === 0) return;
    roundsWithoutProgress = broken && state.results.created === before ? roundsWithoutProgress + 1 : 0;
    if (roundsWithoutProgress > maxRetries) state.end(noValidResponse());
  }
}

function noValidResponse(): PetstoreError {
  return new PetstoreError('unknown_outcome', 'no valid response was received to any create', {
    hint: 'run `petstore doctor` to check the connection to the service',
  });
}

// Sends with several workers until the queue is empty, the run ends, or too many responses in a row are lost. Returns
// true in the last case: a look-up should come before more is sent.
async function sendRows(state: ImportState): Promise<boolean> {
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
  // A late 201 to an earlier run may have decided the row.
  if ((await journal.record('send', row)) !== 'sending') return true;
  let category: Category;
  try {
    signal.throwIfAborted();
    category = await categories.create(rows[row] as NewCategory, () => journal.assertHeld());
  } catch (error) {
    return recordFailure(state, row, error);
  }
  state.results.categories.set(row, category);
  // Where the journal cannot record it, the next run finds the category by a look-up.
  await journal.record('created', row, String(category.id));
  return true;
}

async function recordFailure(state: ImportState, row: number, error: unknown): Promise<boolean> {
  const { event, stop } = classifyError(error, state.options.signal.reason);
  if (stop) state.end(error);
  if (event === 'failed') state.results.rejections.set(row, toPetstoreError(error));
  const lost = event === 'lost' || event === 'timeout';
  if (lost) state.markLost(row);
  await state.options.journal.record(event, row);
  return !lost;
}

/** What a failed create means for its row, and whether the next row would fare no better. */
interface ErrorClass {
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
