// The records of the journal: a checksum and JSON.
import { crc32 } from 'node:zlib';
import { DamagedRecordError } from '../append-log/log.ts';
import type { ProcessRef } from '../append-log/process-liveness.ts';

/** A category that a list showed before a run sent its first create. */
export interface Known {
  /** The number of categories known before it. */
  readonly at: number;
  readonly label: string;
}

/** An attempt whose outcome is not recorded (docs/import.md). */
export interface UncertainAttempt {
  readonly name: string;
  /** The number of categories known before it was sent: only a later one can be its category. */
  readonly known: number;
  /** The service may process it later than usual. */
  readonly slow?: true;
}

/** A category that petstore created: its attempt, the name that was sent, and the label of the name in the response. */
export interface Creation {
  readonly attempt: string;
  readonly name: string;
  readonly label: string;
}

export interface Holder extends ProcessRef {
  readonly run: string;
  /** Incremented by every record of the run: while it changes, the run is alive. */
  readonly beats: number;
}

/** A category in a record: its id in digits, and the label by which it is recognized. */
export type Labeled = readonly [id: string, label: string];

/** One record. A run's records count while it holds the lock; a 201 (`created`) always counts. */
export type JournalRecord =
  | readonly ['acquire', run: string, ProcessRef]
  | readonly ['expire', run: string, beats: number]
  | readonly ['beat' | 'release', run: string]
  | readonly ['account', run: string, index: number]
  | readonly ['known', run: string, readonly Labeled[]]
  | readonly ['send', run: string, attempt: string, name: string]
  | readonly ['created' | 'found', run: string, attempt: string, id: string, label: string]
  | readonly ['slow' | 'absent', run: string, attempt: string]
  | readonly ['settled' | 'deleted', run: string, ids: readonly string[]]
  | readonly ['snapshot', '', Snapshot];

export interface Snapshot {
  readonly lock: Holder | undefined;
  readonly current: number;
  readonly accounts: readonly {
    readonly known: readonly (readonly [id: string, Known])[];
    readonly created: readonly (readonly [id: string, Creation])[];
    readonly uncertain: readonly (readonly [attempt: string, UncertainAttempt])[];
  }[];
}

const KINDS: ReadonlySet<unknown> = new Set<JournalRecord[0]>([
  'acquire',
  'expire',
  'beat',
  'release',
  'account',
  'known',
  'send',
  'created',
  'found',
  'slow',
  'absent',
  'settled',
  'deleted',
  'snapshot',
]);

export function formatRecord(record: JournalRecord): string {
  const json = JSON.stringify(record);
  return `${checksumOf(json)} ${json}`;
}

/**
 * A matching checksum proves that petstore wrote the record, so its fields are not checked. A change of fields needs a new
 * kind.
 * @throws DamagedRecordError if the record is invalid, since it must not decide what is sent
 */
export function parseRecord(text: string): JournalRecord {
  const at = text.indexOf(' ');
  const json = text.slice(at + 1);
  const value: unknown = text.slice(0, at) === checksumOf(json) ? JSON.parse(json) : undefined;
  if (Array.isArray(value) && KINDS.has(value[0])) return value as unknown as JournalRecord;
  throw new DamagedRecordError('not a record of an import');
}

function checksumOf(json: string): string {
  return crc32(json).toString(36);
}
