// The records of the journal: JSON behind a checksum, checked field by field when they are read.
import { crc32 } from 'node:zlib';
import { DamagedRecordError } from '../append-log/log.ts';
import type { ProcessRef } from '../append-log/process-liveness.ts';
import type { Check } from '../append-log/record-shape.ts';
import { isBoolean, isCount, isText, listOf, optional, pair, shape, tryParseJson } from '../append-log/record-shape.ts';

/** A create that was sent and whose outcome is not known. */
export interface Doubt {
  readonly name: string;
  /** How many categories were known before it was sent: it may be any later one. */
  readonly known: number;
  /** The service may be at it for longer than usual. */
  readonly slow?: true;
}

/** A category that this program created: by which attempt, the name that was sent, and the label of what came back. */
export interface Creation {
  readonly attempt: string;
  readonly name: string;
  readonly label: string;
}

/** The run that holds the lock. */
export interface Holder extends ProcessRef {
  readonly run: string;
  /** Grows with every record of the run: it lives as long as this changes. */
  readonly beats: number;
}

/** A category in a record: its id in digits, and a label by which it is recognized. */
export type Labelled = readonly [id: string, label: string];

/** One record. A run's records count while it holds the lock; a 201 (`created`) always counts. */
export type JournalRecord =
  | readonly ['acquire', run: string, ProcessRef]
  | readonly ['expire', run: string, beats: number]
  | readonly ['beat' | 'release', run: string]
  | readonly ['account', run: string, index: number]
  | readonly ['known', run: string, readonly Labelled[]]
  | readonly ['send', run: string, attempt: string, name: string]
  | readonly ['created' | 'found', run: string, attempt: string, id: string, label: string]
  | readonly ['slow' | 'absent', run: string, attempt: string]
  | readonly ['settled' | 'deleted', run: string, ids: readonly string[]]
  | readonly ['snapshot', '', Snapshot];

export interface Snapshot {
  readonly lock?: Holder | undefined;
  readonly current: number;
  readonly accounts: readonly {
    readonly known: readonly Labelled[];
    readonly created: readonly (readonly [string, Creation])[];
    readonly doubts: readonly (readonly [string, Doubt])[];
  }[];
}

const isId: Check = (value) => typeof value === 'string' && /^-?\d{1,19}$/.test(value);
const PROCESS = { pid: isCount, start: isText, host: isText };
const LABELLED = listOf(pair(isId, isText));
const ACCOUNT = shape({
  known: LABELLED,
  created: listOf(pair(isId, shape({ attempt: isText, name: isText, label: isText }))),
  doubts: listOf(pair(isText, shape({ name: isText, known: isCount, slow: optional(isBoolean) }))),
});
/** What follows the kind and the run. */
const SHAPES: Readonly<Record<JournalRecord[0], readonly Check[]>> = {
  acquire: [shape(PROCESS)],
  expire: [isCount],
  beat: [],
  release: [],
  account: [isCount],
  known: [LABELLED],
  send: [isText, isText],
  created: [isText, isId, isText],
  found: [isText, isId, isText],
  slow: [isText],
  absent: [isText],
  settled: [listOf(isId)],
  deleted: [listOf(isId)],
  snapshot: [
    shape({
      lock: optional(shape({ ...PROCESS, run: isText, beats: isCount })),
      current: isCount,
      accounts: listOf(ACCOUNT),
    }),
  ],
};

export function formatRecord(record: JournalRecord): string {
  const json = JSON.stringify(record);
  return `${checksumOf(json)} ${json}`;
}

/** @throws DamagedRecordError if the record is not valid: it must not decide what is sent */
export function parseRecord(text: string): JournalRecord {
  const at = text.indexOf(' ');
  const json = text.slice(at + 1);
  if (text.slice(0, at) !== checksumOf(json)) throw new DamagedRecordError('not a record of an import');
  const value = tryParseJson(json);
  const [kind, run, ...fields]: readonly unknown[] = Array.isArray(value) ? value : [];
  const checks = typeof kind === 'string' && Object.hasOwn(SHAPES, kind) ? SHAPES[kind as JournalRecord[0]] : undefined;
  if (!checks || !isText(run) || checks.length !== fields.length || !checks.every((check, at) => check(fields[at]))) {
    throw new DamagedRecordError('not a record of an import');
  }
  return value as JournalRecord;
}

function checksumOf(json: string): string {
  return crc32(json).toString(36);
}
