// The records of a journal, checked as they are read: a damaged journal must not decide what is sent.
import { DamagedRecordError } from '../append-log/log.ts';
import type { ProcessRef } from '../append-log/process-liveness.ts';
import type { Check } from '../append-log/record-shape.ts';
import {
  isBoolean,
  isCount,
  isText,
  listOf,
  oneOf,
  optional,
  pair,
  shape,
  tryParseJson,
} from '../append-log/record-shape.ts';

/** The state of one row. `skipped` is never journaled: each run finds it out again. */
export type RowState = 'pending' | 'sending' | 'unknown' | 'created' | 'failed' | 'skipped';

export interface Transition {
  readonly from: readonly RowState[];
  readonly to: RowState;
  /** Added to the row's attempts. */
  readonly attempts?: number;
}

/** Every transition of a row, by the event that causes it; an event in another state changes nothing. */
export const TRANSITIONS = {
  send: { from: ['pending'], to: 'sending', attempts: 1 },
  created: { from: ['pending', 'sending', 'unknown', 'failed'], to: 'created' },
  failed: { from: ['sending'], to: 'failed' },
  unsent: { from: ['sending'], to: 'pending', attempts: -1 },
  lost: { from: ['sending'], to: 'unknown' },
  timeout: { from: ['sending'], to: 'unknown' },
  found: { from: ['unknown'], to: 'created' },
  withdrawn: { from: ['created'], to: 'unknown' },
  absent: { from: ['unknown'], to: 'pending' },
} as const satisfies Readonly<Record<string, Transition>>;

export type RowEvent = keyof typeof TRANSITIONS;

/** One row in the journal; a row without an entry is pending and was never sent. */
export interface RowEntry {
  readonly state: RowState;
  /** How often the present run has sent it. */
  readonly attempts: number;
  /** The category's id in digits, once created. */
  readonly id?: string | undefined;
  /** The id comes from a look-up, not from a 201. */
  readonly found?: boolean | undefined;
  /** The attempt timed out, so the service may still be processing it. */
  readonly slow?: boolean | undefined;
}

/** The run that holds the journal's lock. */
export interface LockHolder extends ProcessRef {
  readonly run: string;
  /** Grows with every record of the run: it lives as long as this changes. */
  readonly beats: number;
}

/** Describes an import, written by every run. */
export interface JournalHeader {
  readonly version: 2;
  /** Identifies the file (`InputFile.id`); undefined for stdin. */
  readonly source?: string | undefined;
  readonly rows: number;
  /** Of a journal on a server: see `JournalLog.epoch`. */
  readonly epoch?: string | undefined;
}

/** One record. A run's records count while it holds the lock; a 201 (`created`) always counts. */
export type JournalRecord =
  | readonly ['acquire', run: string, ProcessRef, JournalHeader]
  | readonly ['expire', run: string, beats: number]
  | readonly ['baseline', run: string, ids: readonly string[]]
  | readonly ['row', run: string, RowEvent, row: number, id?: string]
  | readonly ['release' | 'beat' | 'restart' | 'finished' | 'superseded', run: string]
  | readonly ['snapshot', '', SnapshotRecord];

/** A whole state; a log that has grown begins anew with it. */
export interface SnapshotRecord {
  readonly header: JournalHeader | undefined;
  readonly lock: LockHolder | undefined;
  readonly baseline: readonly string[] | undefined;
  readonly rows: readonly (readonly [number, RowEntry])[];
  readonly finished: boolean;
}

const isId: Check = (value) => typeof value === 'string' && /^-?\d{1,19}$/.test(value);
const PROCESS = { pid: isCount, start: isText, host: isText };
const HEADER = shape({ version: isCount, source: optional(isText), rows: isCount, epoch: optional(isText) });
const ENTRY = shape({
  state: oneOf('pending', 'sending', 'unknown', 'created', 'failed'),
  attempts: isCount,
  id: optional(isId),
  found: optional(isBoolean),
  slow: optional(isBoolean),
});
const isEntry: Check = (value) =>
  ENTRY(value) && ((value as RowEntry).state === 'created') === ((value as RowEntry).id !== undefined);
const SNAPSHOT = shape({
  header: optional(HEADER),
  lock: optional(shape({ ...PROCESS, run: isText, beats: isCount })),
  baseline: optional(listOf(isId)),
  rows: listOf(pair(isCount, isEntry)),
  finished: optional(isBoolean),
});

/** What follows the kind and the run. */
const SHAPES: Readonly<Record<JournalRecord[0], readonly Check[]>> = {
  acquire: [shape(PROCESS), HEADER],
  expire: [isCount],
  baseline: [listOf(isId)],
  row: [oneOf(...Object.keys(TRANSITIONS)), isCount],
  release: [],
  beat: [],
  restart: [],
  finished: [],
  superseded: [],
  snapshot: [SNAPSHOT],
};

/** @throws DamagedRecordError */
export function parseRecord(text: string): JournalRecord {
  const value = tryParseJson(text);
  const record: readonly unknown[] = Array.isArray(value) ? value : [];
  const [kind, run, ...fields] = record;
  const known = typeof kind === 'string' && Object.hasOwn(SHAPES, kind) ? SHAPES[kind as JournalRecord[0]] : undefined;
  const hasId = kind === 'row' && (fields[0] === 'created' || fields[0] === 'found');
  const checks = known && [...known, ...(hasId ? [isId] : [])];
  if (!checks || !isText(run) || checks.length !== fields.length || !checks.every((check, at) => check(fields[at]))) {
    throw new DamagedRecordError('not a record of an import');
  }
  return record as unknown as JournalRecord;
}
