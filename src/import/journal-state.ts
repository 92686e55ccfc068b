// The states of an import and its rows, reduced from the journal's records (docs/import.md has the diagram).
import type { LogFormat } from '../append-log/log.ts';
import type { ProcessRef } from '../append-log/process-liveness.ts';
import type { Int64 } from '../json.ts';
import { parseRecord } from './journal-record.ts';

/** The state of one row. `skipped` is never journaled: each run finds it out again. */
export type RowState = 'pending' | 'sending' | 'unknown' | 'created' | 'failed' | 'skipped';

/** What moves a row from state to state; the journal has one record per event. */
export type RowEvent = 'send' | 'created' | 'failed' | 'unsent' | 'lost' | 'timeout' | 'found' | 'withdrawn' | 'absent';

interface Transition {
  readonly from: readonly RowState[];
  readonly to: RowState;
  /** Added to the row's attempts. */
  readonly attempts?: number;
}

/** Every transition of a row; an event in another state changes nothing. */
export const TRANSITIONS: Readonly<Record<RowEvent, Transition>> = {
  send: { from: ['pending'], to: 'sending', attempts: 1 },
  created: { from: ['pending', 'sending', 'unknown', 'failed'], to: 'created' },
  failed: { from: ['sending'], to: 'failed' },
  unsent: { from: ['sending'], to: 'pending', attempts: -1 },
  lost: { from: ['sending'], to: 'unknown' },
  timeout: { from: ['sending'], to: 'unknown' },
  found: { from: ['unknown'], to: 'created' },
  withdrawn: { from: ['created'], to: 'unknown' },
  absent: { from: ['unknown'], to: 'pending' },
};

/** One row in the journal; a row without an entry is pending and was never sent. */
export interface RowEntry {
  readonly state: RowState;
  /** How often the present run has sent it. */
  readonly attempts: number;
  /** The category's id in digits, once created. */
  readonly id?: string;
  /** The id comes from a look-up, not from a 201. */
  readonly found?: true;
  /** The attempt timed out, so the service may still be processing it. */
  readonly slow?: true;
}

/** The run that holds the journal's lock. */
export interface LockHolder extends ProcessRef {
  readonly run: string;
  /** Grows with every record of the run: it lives as long as this changes. */
  readonly beats: number;
}

/** Describes an import, written by its first run. */
export interface JournalHeader {
  readonly version: 2;
  /** The file's real path; undefined for stdin. */
  readonly source?: string | undefined;
  readonly rows: number;
}

export interface JournalState {
  header: JournalHeader | undefined;
  lock: LockHolder | undefined;
  /** The ids that existed before the first row was sent; undefined until all are recorded. */
  baseline: Set<string> | undefined;
  /** Ids of a baseline that is not complete yet. */
  draft: string[];
  rows: Map<number, RowEntry>;
  /** The row of each category that this import created, by id. */
  owners: Map<string, number>;
  /** True once a run had nothing left to do. */
  finished: boolean;
}

/** One record. A run's records count while it holds the lock; a 201 (`created`) always counts. */
export type JournalRecord =
  | readonly ['header', JournalHeader]
  | readonly ['acquire', run: string, process: ProcessRef]
  | readonly ['release' | 'beat' | 'restart' | 'finished', run: string]
  | readonly ['expire', run: string, beats: number]
  | readonly ['superseded']
  | readonly ['baseline', run: string, ids: readonly string[]]
  | readonly ['baseline-end', run: string, count: number]
  | readonly ['created' | 'found', run: string, row: number, id: string]
  | readonly [Exclude<RowEvent, 'created' | 'found'>, run: string, row: number]
  | readonly ['kept', Pick<JournalState, 'lock' | 'draft' | 'finished'>]
  | readonly ['kept-baseline', ids: readonly string[]]
  | readonly ['kept-row', row: number, entry: RowEntry];

const IDS_PER_RECORD = 2000;

export const journalFormat: LogFormat<JournalState> = {
  initial: () => ({
    header: undefined,
    lock: undefined,
    baseline: undefined,
    draft: [],
    rows: new Map(),
    owners: new Map(),
    finished: false,
  }),
  /** @throws DamagedJournalError where the record is not valid */
  apply: (state, text) => apply(state, parseRecord(text)),
  *snapshot(state) {
    for (const record of snapshotOf(state)) yield JSON.stringify(record);
  },
};

function* snapshotOf(state: JournalState): Generator<JournalRecord> {
  if (state.header) yield ['header', state.header];
  yield ['kept', { lock: state.lock, draft: state.draft, finished: state.finished }];
  if (state.baseline) {
    yield ['kept-baseline', []];
    for (const ids of chunks([...state.baseline])) yield ['kept-baseline', ids];
  }
  for (const [row, entry] of state.rows) yield ['kept-row', row, entry];
}

/** Splits ids into parts that fit one record each. */
export function* chunks(ids: readonly string[]): Generator<readonly string[]> {
  for (let from = 0; from < ids.length; from += IDS_PER_RECORD) yield ids.slice(from, from + IDS_PER_RECORD);
}

/** @param digits an id as the journal keeps it */
export function idOf(digits: string): Int64 {
  const id = Number(digits);
  return Number.isSafeInteger(id) ? id : BigInt(digits);
}

function apply(state: JournalState, record: JournalRecord): void {
  switch (record[0]) {
    case 'header':
      state.header ??= record[1];
      return;
    case 'acquire':
      acquire(state, record[1], record[2]);
      return;
    case 'superseded':
      state.finished = true;
      return;
    case 'kept':
      Object.assign(state, { lock: undefined }, record[1]);
      return;
    case 'kept-baseline':
      state.baseline = new Set([...(state.baseline ?? []), ...record[1]]);
      return;
    case 'kept-row':
      setRow(state, record[1], record[2]);
      return;
    case 'expire':
      if (state.lock?.run === record[1] && state.lock.beats === record[2]) state.lock = undefined;
      return;
  }
  const held = state.lock?.run === record[1];
  if (state.lock && held) state.lock = { ...state.lock, beats: state.lock.beats + 1 };
  // A 201 proves that the row exists, also when it reaches a run that has lost the lock.
  if (record[0] === 'created') recordCreated(state, record[2], record[3]);
  else if (held) applyOfHolder(state, record);
}

function applyOfHolder(state: JournalState, record: JournalRecord): void {
  switch (record[0]) {
    case 'release':
      state.lock = undefined;
      return;
    case 'restart':
      Object.assign(state, { ...journalFormat.initial(), lock: state.lock });
      return;
    case 'baseline':
      state.draft.push(...record[2]);
      return;
    case 'baseline-end':
      keepBaseline(state, new Set(state.draft), record[2]);
      return;
    case 'finished':
      state.finished = true;
      return;
    case 'found':
      if (!state.owners.has(record[3])) transition(state, record[2], 'found', record[3]);
      return;
    case 'send':
    case 'failed':
    case 'unsent':
    case 'lost':
    case 'timeout':
    case 'withdrawn':
    case 'absent':
      transition(state, record[2], record[0]);
  }
}

// A baseline that was not written to its end counts for nothing.
function keepBaseline(state: JournalState, ids: Set<string>, count: number): void {
  if (ids.size === count) state.baseline ??= ids;
  state.draft = [];
}

// A new run: what the last one left in flight is unknown now; what failed may be sent again, since it does not exist.
function acquire(state: JournalState, run: string, process: ProcessRef): void {
  if (state.lock) return;
  state.lock = { ...process, run, beats: 0 };
  state.draft = [];
  for (const [row, entry] of state.rows) {
    if (entry.state === 'pending' || entry.state === 'failed') state.rows.delete(row);
    else if (entry.state !== 'created') state.rows.set(row, { ...entry, state: 'unknown', attempts: 0 });
  }
}

function transition(state: JournalState, row: number, event: RowEvent, id?: string): void {
  const entry = state.rows.get(row) ?? { state: 'pending', attempts: 0 };
  const { from, to, attempts = 0 } = TRANSITIONS[event];
  if (!from.includes(entry.state) || (event === 'withdrawn' && !entry.found)) return;
  if (event === 'send') state.finished = false;
  if (entry.id !== undefined) state.owners.delete(entry.id);
  setRow(state, row, {
    state: to,
    attempts: entry.attempts + attempts,
    ...(id !== undefined && { id }),
    ...(event === 'found' && { found: true }),
    ...((event === 'timeout' || (to === 'unknown' && entry.slow)) && { slow: true }),
  });
}

// A 201 outranks a look-up: a row for which the same category was found is unknown again.
function recordCreated(state: JournalState, row: number, id: string): void {
  const other = state.owners.get(id);
  if (other !== undefined && other !== row) transition(state, other, 'withdrawn');
  if (!state.owners.has(id)) transition(state, row, 'created', id);
}

function setRow(state: JournalState, row: number, entry: RowEntry): void {
  state.rows.set(row, entry);
  if (entry.id !== undefined) state.owners.set(entry.id, row);
}
