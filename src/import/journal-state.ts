// The states of an import and its rows, reduced from the journal's records (docs/import.md has the diagram).
import type { LogFormat } from '../append-log/log.ts';
import type { Int64 } from '../json.ts';
import type {
  JournalHeader,
  JournalRecord,
  LockHolder,
  RowEntry,
  RowEvent,
  SnapshotRecord,
  Transition,
} from './journal-record.ts';
import { parseRecord, TRANSITIONS } from './journal-record.ts';

export interface JournalState {
  header: JournalHeader | undefined;
  lock: LockHolder | undefined;
  /** The ids that existed before the first row was sent; undefined until they are recorded. */
  baseline: ReadonlySet<string> | undefined;
  rows: Map<number, RowEntry>;
  /** The row of each category that this import created, by id. */
  owners: Map<string, number>;
  /** The rows whose state is unknown. */
  unknown: Set<number>;
  /** True once a run had nothing left to do. */
  finished: boolean;
}

export const journalFormat: LogFormat<JournalState> = {
  initial: () => ({
    header: undefined,
    lock: undefined,
    baseline: undefined,
    rows: new Map(),
    owners: new Map(),
    unknown: new Set(),
    finished: false,
  }),
  /** @throws DamagedRecordError where the record is not valid */
  apply: (state, text) => apply(state, parseRecord(text)),
  *snapshot({ header, lock, baseline, rows, finished }) {
    const known = baseline && [...baseline];
    yield JSON.stringify(['snapshot', '', { header, lock, baseline: known, rows: [...rows], finished }]);
  },
};

/** @param digits an id as the journal keeps it */
export function idOf(digits: string): Int64 {
  const id = Number(digits);
  return Number.isSafeInteger(id) ? id : BigInt(digits);
}

function apply(state: JournalState, record: JournalRecord): void {
  const [kind, run] = record;
  const { lock } = state;
  const held = lock?.run === run;
  if (lock && held) state.lock = { ...lock, beats: lock.beats + 1 };
  if (kind === 'acquire') acquire(state, { ...record[2], run, beats: 0 }, record[3]);
  else if (kind === 'superseded') state.finished = true;
  else if (kind === 'snapshot') restore(state, record[2]);
  else if (kind === 'expire' && held && lock.beats === record[2]) state.lock = undefined;
  // A 201 proves that the row exists, also when it reaches a run that has lost the lock.
  else if (kind === 'row' && record[2] === 'created') recordCreated(state, record[3], record[4] ?? '');
  else if (held) applyOfHolder(state, record);
}

function applyOfHolder(state: JournalState, record: JournalRecord): void {
  const [kind] = record;
  if (kind === 'release') state.lock = undefined;
  else if (kind === 'restart')
    Object.assign(state, { ...journalFormat.initial(), lock: state.lock, header: state.header });
  else if (kind === 'finished') state.finished = true;
  // A newer baseline counts while no row was sent.
  else if (kind === 'baseline' && (!state.baseline || state.rows.size === 0)) state.baseline = new Set(record[2]);
  else if (kind === 'row' && record[2] !== 'found') transition(state, record[3], record[2]);
  else if (kind === 'row' && !state.owners.has(record[4] ?? '')) transition(state, record[3], record[2], record[4]);
}

function restore(state: JournalState, { baseline, rows, ...rest }: SnapshotRecord): void {
  Object.assign(state, journalFormat.initial(), rest, baseline && { baseline: new Set(baseline) });
  for (const [row, entry] of rows) setRow(state, row, entry);
}

// A new run: what the last one left in flight is unknown now; what failed may be sent again, since it does not exist.
function acquire(state: JournalState, lock: LockHolder, header: JournalHeader): void {
  if (state.lock) return;
  state.lock = lock;
  for (const [row, entry] of state.rows) {
    if (entry.state === 'pending' || entry.state === 'failed') state.rows.delete(row);
    else if (entry.state !== 'created') setRow(state, row, { ...entry, state: 'unknown', attempts: 0 });
  }
  // A server that was restarted or replaced may have lost records: then a row without one does not count as never sent.
  const lossy = state.header && state.header.epoch !== header.epoch && state.baseline;
  for (let row = 0; lossy && row < header.rows; row++) {
    if (!state.rows.has(row)) setRow(state, row, { state: 'unknown', attempts: 0 });
  }
  state.header = header;
}

function transition(state: JournalState, row: number, event: RowEvent, id?: string): void {
  const { from, to, attempts = 0 }: Transition = TRANSITIONS[event];
  const entry = state.rows.get(row) ?? { state: 'pending', attempts: 0 };
  if (!from.includes(entry.state) || (event === 'withdrawn' && !entry.found)) return;
  if (event === 'send') state.finished = false;
  if (entry.id !== undefined) state.owners.delete(entry.id);
  const slow = event === 'timeout' || (to === 'unknown' && entry.slow);
  setRow(state, row, {
    state: to,
    attempts: entry.attempts + attempts,
    ...(id !== undefined && { id }),
    ...(event === 'found' && { found: true }),
    ...(slow && { slow }),
  });
}

// A 201 outranks a find of the same category: that row is unknown again.
function recordCreated(state: JournalState, row: number, id: string): void {
  const other = state.owners.get(id);
  if (other !== undefined && other !== row) transition(state, other, 'withdrawn');
  if (!state.owners.has(id)) transition(state, row, 'created', id);
}

function setRow(state: JournalState, row: number, entry: RowEntry): void {
  state.rows.set(row, entry);
  if (entry.id !== undefined) state.owners.set(entry.id, row);
  if (entry.state === 'unknown') state.unknown.add(row);
  else state.unknown.delete(row);
}
