// The import itself: a list before, then passes of sending and looking up until every row is decided.
import type { Category, NewCategory } from '../api/types.ts';
import { PetstoreError } from '../errors.ts';
import type { RunOptions } from './import-state.ts';
import { ImportState } from './import-state.ts';
import { idOf } from './journal-state.ts';
import { findSurplus, lookUp } from './lookup.ts';
import type { ImportResults } from './results.ts';
import { RowSender } from './send-rows.ts';

/** How a run ended. */
export interface RunResult {
  readonly tally: ImportResults;
  /** Why it ended before every row was tried; undefined where it came to its end. */
  readonly stop: PetstoreError | undefined;
  /** Categories that equal a row which was sent twice and that no row accounts for: its first request came late. */
  readonly surplus: readonly Category[];
}

/**
 * Creates every row that the journal does not know as created (contract, section 7).
 * @param options rows, journal, service, limits
 * @returns what became of every row
 * @throws PetstoreError where nothing was sent, or not even the first list was answered; `usage` where what it created
 *   before is gone
 */
export async function runImport(options: RunOptions): Promise<RunResult> {
  const work = new ImportState(options);
  restore(work);
  const listed = await firstList(work);
  if (work.stop) return { tally: work.tally, stop: work.stop, surplus: [] };
  try {
    await plan(work, listed);
    await sendAll(work);
    if (work.tally.complete) options.journal.finish();
  } catch (error) {
    work.end(error);
  }
  return { tally: work.tally, stop: work.stop, surplus: work.stop ? [] : await findSurplus(work) };
}

// What earlier runs noted: created rows are left out, half-done ones are looked up.
function restore(work: ImportState): void {
  for (const [row, { status, id, slow }] of work.options.journal.state.rows) {
    if (status === 'created') work.tally.skip(row, idOf(id ?? ''));
    else if (status === 'undecided') work.lose(row, slow);
  }
}

async function firstList(work: ImportState): Promise<readonly Category[]> {
  const { rows, journal, skipExisting, categories } = work.options;
  const { baseline, owners } = journal.state;
  const known = baseline !== undefined;
  if (owners.size === 0 && (work.tally.done === rows.length || (known && !skipExisting))) return [];
  try {
    const listed = await categories.list();
    const ids = listed.map(({ id }) => String(id));
    // Nothing is ever deleted: where all that was there is gone, it is not the same data any more.
    if (owners.size > 0 && !ids.some((id) => owners.has(id) || baseline?.has(id))) throw wasReset(owners.size);
    if (!known) await journal.noteBaseline(ids);
    return listed;
  } catch (error) {
    const answered = error instanceof PetstoreError && ['auth', 'service', 'rejected'].includes(error.kind);
    if (!answered) throw error;
    work.end(error);
    return [];
  }
}

function wasReset(created: number): PetstoreError {
  const [what, are] = created === 1 ? ['the category', 'is'] : [`all ${created} categories`, 'are'];
  return new PetstoreError('usage', `${what} that this import created ${are} gone: the service's data was reset`, {
    hint: 'to create every row again add --restart',
  });
}

async function plan(work: ImportState, listed: readonly Category[]): Promise<void> {
  const { rows, skipExisting, onPlan, onProgress } = work.options;
  // A name that a row without an answer may have brought there is no name that existed.
  if (skipExisting) await lookUp(work);
  const existing = namesElsewhere(work, listed);
  let known = 0;
  work.queue.length = 0;
  for (let row = rows.length - 1; row >= 0; row--) {
    if (work.tally.knows(row)) continue;
    const id = existing.size > 0 ? existing.get((rows[row] as NewCategory).name) : undefined;
    if (id !== undefined && skipExisting) {
      work.tally.skip(row, id);
      continue;
    }
    if (id !== undefined) known++;
    work.queue.push(row);
  }
  await onPlan({ send: work.queue.length, existing: known });
  work.options.expect(() => work.ahead);
  onProgress(work.tally);
}

// Names the service has that no row of this import brought there.
function namesElsewhere(work: ImportState, listed: readonly Category[]): Map<string, Category['id']> {
  const { owners } = work.options.journal.state;
  const names = new Map<string, Category['id']>();
  for (const { id, name } of listed) if (!owners.has(String(id))) names.set(name, id);
  return names;
}

async function sendAll(work: ImportState): Promise<void> {
  const sending = new RowSender(work);
  for (let fruitless = 0; !work.stop; ) {
    const before = work.tally.created;
    const broken = await sending.pass();
    if (work.stop) return;
    await lookUp(work);
    if (work.queue.length === 0) return;
    fruitless = broken && work.tally.created === before ? fruitless + 1 : 0;
    if (fruitless > work.options.maxRetries) work.end(failsEvery());
  }
}

function failsEvery(): PetstoreError {
  return new PetstoreError('unknown_outcome', 'the service answers no create in a way that can be trusted', {
    hint: '`petstore doctor` checks the way to the service',
  });
}
