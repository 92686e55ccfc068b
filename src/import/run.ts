// One run of an import: a list first, then rows sent and unknown ones looked up until every row is decided.
import type { Category } from '../api/types.ts';
import { PetstoreError } from '../errors.ts';
import type { RunOptions } from './import-state.ts';
import { ImportState } from './import-state.ts';
import { idOf } from './journal-state.ts';
import { claimedElsewhere, completeList, findLateDuplicates, lookUp, missingFromList } from './lookup.ts';
import type { ImportResults } from './results.ts';
import { sendRows } from './send-rows.ts';

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
  await restore(state);
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

// What earlier runs recorded: created rows are skipped, unknown ones are looked up.
async function restore(state: ImportState): Promise<void> {
  const { journal } = state.options;
  const entries = [...journal.state.rows];
  // The run before may have ended between a claim and the look at the other imports.
  const claimed = entries.some(([, { found }]) => found) ? await claimedElsewhere(state) : () => false;
  for (const [row, { state: recorded, id, found, slow }] of entries) {
    if (id !== undefined && found && claimed(id)) {
      await journal.record('withdrawn', row);
      state.markUnknown(row);
    } else if (id !== undefined) state.results.set(row, { state: 'skipped', id: idOf(id) });
    else if (recorded === 'unknown') state.markUnknown(row, slow);
  }
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
  const { rows, skipExisting, onPlan, onProgress, journal } = state.options;
  // The name of an unknown row may be its own: decided first, it does not count as existing.
  if (skipExisting) await lookUp(state);
  const { owners } = journal.state;
  const existing = new Map<string, Category['id']>(
    listed.flatMap(({ id, name }) => (owners.has(String(id)) ? [] : [[name, id] as const])),
  );
  let known = 0;
  state.queue.length = 0;
  for (let row = rows.length - 1; row >= 0; row--) {
    if (state.results.stateOf(row) !== 'pending') continue;
    const id = existing.get(state.rowAt(row).name);
    if (id !== undefined && skipExisting) {
      state.results.set(row, { state: 'skipped', id });
      continue;
    }
    if (id !== undefined) known++;
    state.queue.push(row);
  }
  await onPlan({ send: state.queue.length, existing: known, resumed: owners.size });
  onProgress(state.results);
}

async function sendAll(state: ImportState): Promise<void> {
  const { maxRetries } = state.options;
  for (let roundsWithoutProgress = 0; !state.stop; ) {
    const before = state.results.count('created');
    const broken = await sendRows(state);
    if (state.stop) return;
    await lookUp(state);
    if (state.queue.length === 0) return;
    roundsWithoutProgress = broken && state.results.count('created') === before ? roundsWithoutProgress + 1 : 0;
    if (roundsWithoutProgress > maxRetries) state.end(noValidResponse());
  }
}

function noValidResponse(): PetstoreError {
  return new PetstoreError('unknown_outcome', 'no valid response was received to any create', {
    hint: 'run `petstore doctor` to check the connection to the service',
  });
}
