// The records of the journal: JSON behind a checksum.
import { crc32 } from 'node:zlib';
import { DamagedRecordError } from '../append-log/log.ts';
import type { ProcessRef } from '../append-log/process-liveness.ts';

/** A category that a list showed before something was sent. */
export interface Known {
  /** How many were known before it. */
  readonly at: number;
  readonly label: string;
}

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
  readonly lock: Holder | undefined;
  readonly current: number;
  readonly accounts: readonly {
    readonly known: readonly (readonly [id: string, Known])[];
    readonly created: readonly (readonly [id: string, Creation])[];
    readonly doubts: readonly (readonly [attempt: string, Doubt])[];
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
 * A checksum that fits proves that petstore wrote the record; a version that writes other fields must name another kind.
 * @throws DamagedRecordError if the record is not valid: it must not decide what is sent
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
