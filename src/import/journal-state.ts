// What the records of an import's journal add up to: a pure fold, so that every process that reads it sees the same.

import type { LogFormat } from '../append-log/log.ts';
import type { ProcessRef } from '../append-log/process-liveness.ts';
import type { Int64 } from '../json.ts';

/**
 * Where a row stands.
 * `sending`: handed to the sender, no answer noted; `undecided`: its answer was lost; `open` is kept only with tries
 * behind it. A row without an entry was never touched.
 */
export type RowStatus = 'open' | 'sending' | 'undecided' | 'created' | 'rejected';

/** One row's entry. */
export interface RowEntry {
  readonly status: RowStatus;
  /** How often it was sent since the run began. */
  readonly tries: number;
  /** The category's id in digits, once `created`. */
  readonly id?: string;
  /** Of an `undecided` row: it took too long, so that it may be carried out yet. */
  readonly slow?: boolean;
}

/** The run that holds the journal. */
export interface LockHolder extends ProcessRef {
  readonly run: string;
  /** When it last said that it lives, epoch milliseconds. */
  readonly beat: number;
}

/** What an import is, as its first run noted. */
export interface JournalHeader {
  readonly version: 1;
  /** The file's real path; undefined where the rows came from stdin. */
  readonly source?: string | undefined;
  readonly rows: number;
}

/** The whole journal. */
export interface JournalState {
  head: JournalHeader | undefined;
  holder: LockHolder | undefined;
  /** The ids that were there before the import began; undefined until all are noted. */
  baseline: Set<string> | undefined;
  /** Ids of a baseline that is still being written. */
  draft: string[];
  rows: Map<number, RowEntry>;
  /** Which row each known category belongs to. */
  owners: Map<string, number>;
  /** True once a run ended with nothing left to do. */
  finished: boolean;
}

/** One record; who wrote it stands second, and only the holder's count, but for answers the service gave. */
export type JournalRecord =
  | readonly ['head', JournalHeader]
  | readonly ['take', string, ProcessRef, number]
  | readonly ['drop', string]
  | readonly ['beat', string, number]
  | readonly ['reset', string]
  | readonly ['base', string, readonly string[]]
  | readonly ['based', string, number]
  | readonly ['send', string, number]
  | readonly ['created', string, number, string]
  | readonly ['rejected' | 'unsent' | 'lost' | 'slow' | 'absent', string, number]
  | readonly ['found', string, number, string]
  | readonly ['finished', string]
  | readonly ['superseded']
  | readonly ['keep', Pick<JournalState, 'holder' | 'draft' | 'finished'>]
  | readonly ['kept-base', readonly string[]]
  | readonly ['kept-row', number, RowEntry];

const IDS_PER_RECORD = 2000;

/** The journal as a log. */
export const journalFormat: LogFormat<JournalState> = {
  initial: () => ({
    head: undefined,
    holder: undefined,
    baseline: undefined,
    draft: [],
    rows: new Map(),
    owners: new Map(),
    finished: false,
  }),
  apply(state, text) {
    let record: unknown;
    try {
      record = JSON.parse(text);
    } catch {
      return;
    }
    if (Array.isArray(record)) apply(state, record as unknown as JournalRecord);
  },
  *snapshot(state) {
    for (const record of kept(state)) yield JSON.stringify(record);
  },
};

function* kept(state: JournalState): Generator<JournalRecord> {
  if (state.head) yield ['head', state.head];
  yield ['keep', { holder: state.holder, draft: state.draft, finished: state.finished }];
  if (state.baseline) {
    yield ['kept-base', []];
    for (const ids of chunks([...state.baseline])) yield ['kept-base', ids];
  }
  for (const [row, entry] of state.rows) yield ['kept-row', row, entry];
}

/**
 * @param ids any number of ids
 * @returns the same in parts, each fit for one record
 */
export function* chunks(ids: readonly string[]): Generator<readonly string[]> {
  for (let from = 0; from < ids.length; from += IDS_PER_RECORD) yield ids.slice(from, from + IDS_PER_RECORD);
}

/**
 * @param digits an id as the journal keeps it
 * @returns the id as the service's, every digit kept
 */
export function idOf(digits: string): Int64 {
  const id = Number(digits);
  return Number.isSafeInteger(id) ? id : BigInt(digits);
}

function apply(state: JournalState, record: JournalRecord): void {
  if (record[0] === 'head') state.head ??= record[1];
  else if (record[0] === 'take') take(state, record[1], record[2], record[3]);
  else if (record[0] === 'keep') Object.assign(state, record[1]);
  else if (record[0] === 'kept-base') keepBaseline(state, record[1]);
  else if (record[0] === 'kept-row') keepRow(state, record[1], record[2]);
  // An answer is evidence whoever noted it, even a run that was thought dead.
  else if (record[0] === 'created') own(state, record[2], record[3]);
  // Said by an import of the same file with other rows, which takes this one's place.
  else if (record[0] === 'superseded') state.finished = true;
  else if (state.holder && state.holder.run === record[1]) applyOfHolder(state, state.holder, record);
}

function applyOfHolder(state: JournalState, holder: LockHolder, record: JournalRecord): void {
  const [kind] = record;
  if (kind === 'drop') state.holder = undefined;
  else if (kind === 'beat') state.holder = { ...holder, beat: record[2] };
  else if (kind === 'reset') Object.assign(state, { ...journalFormat.initial(), holder });
  else if (kind === 'base') state.draft.push(...record[2]);
  else if (kind === 'based') settleBaseline(state, record[2]);
  else if (kind === 'finished') state.finished = true;
  else if (kind === 'found') find(state, record[2], record[3]);
  else if (kind === 'send') move(state, record[2], ['open'], 'sending', 1);
  else if (kind === 'unsent') move(state, record[2], ['sending'], 'open', -1);
  else if (kind === 'lost') move(state, record[2], ['sending'], 'undecided', 0);
  else if (kind === 'slow') move(state, record[2], ['sending'], 'undecided', 0, true);
  else if (kind === 'absent') move(state, record[2], ['undecided'], 'open', 0);
  else if (kind === 'rejected') move(state, record[2], ['sending'], 'rejected', 0);
}

// Whatever the run before left half done is undecided now; what was rejected may be tried again: it does not exist.
function take(state: JournalState, run: string, mark: ProcessRef, beat: number): void {
  if (state.holder) return;
  state.holder = { run, pid: mark.pid, start: mark.start, host: mark.host, beat };
  state.draft = [];
  for (const [row, { status, slow }] of state.rows) {
    if (status === 'open' || status === 'rejected') state.rows.delete(row);
    else if (status !== 'created') state.rows.set(row, { status: 'undecided', tries: 0, ...(slow && { slow }) });
  }
}

function keepBaseline(state: JournalState, ids: readonly string[]): void {
  state.baseline ??= new Set();
  for (const id of ids) state.baseline.add(id);
}

function settleBaseline(state: JournalState, count: number): void {
  if (!state.baseline && state.draft.length === count) state.baseline = new Set(state.draft);
  state.draft = [];
}

function move(
  state: JournalState,
  row: number,
  from: readonly RowStatus[],
  to: RowStatus,
  tries: number,
  slow = false,
): void {
  const entry = state.rows.get(row) ?? { status: 'open', tries: 0 };
  if (!from.includes(entry.status)) return;
  if (to === 'sending') state.finished = false;
  state.rows.set(row, { status: to, tries: entry.tries + tries, ...(slow && { slow }) });
}

function find(state: JournalState, row: number, id: string): void {
  const entry = state.rows.get(row);
  if (entry?.status === 'undecided' && !state.owners.has(id)) own(state, row, id);
}

// The service's own answer goes before what a lookup concluded: then that row is undecided again.
function own(state: JournalState, row: number, id: string): void {
  const entry = state.rows.get(row);
  if (entry?.status === 'created') return;
  const other = state.owners.get(id);
  if (other !== undefined) state.rows.set(other, { status: 'undecided', tries: state.rows.get(other)?.tries ?? 0 });
  keepRow(state, row, { status: 'created', tries: entry?.tries ?? 0, id });
}

function keepRow(state: JournalState, row: number, entry: RowEntry): void {
  state.rows.set(row, entry);
  if (entry.id !== undefined) state.owners.set(entry.id, row);
}
