// The records of a lock, and the state to which they reduce. An unknown record is ignored: another program or version has written it.
import type { LogFormat } from '../shared-log/log.ts';
import { isObject, tryParseJson } from '../shared-log/log.ts';
import type { ProcessRef } from '../shared-log/process-liveness.ts';

/** Part of the lock's name, so that no version reads the records of another one. */
export const LOCK_VERSION = 3;

export interface LockState {
  /** The run that imports. */
  holder?: (ProcessRef & { readonly run: string }) | undefined;
  /** The number of locks that were confirmed. It is lower than the term of a live run if a server lost records. */
  term: number;
  /** The time of the last record by the log's clock, the holder's last sign of life; 0 in an empty log. */
  at: number;
  /** The drain at the time `at`. */
  drainMs: number;
}

/** What a run did to the lock. */
export interface LockRecord {
  readonly kind: 'acquire' | 'confirm' | 'beat' | 'release';
  readonly run: string;
  readonly process: ProcessRef;
  /** That of the lock when this run confirmed it; 0 before, and in a file, which loses nothing. */
  readonly term: number;
  /** For `acquire`: that of the lock when this run found it free or its holder dead. */
  readonly revision: string;
  readonly at: number;
  readonly drainMs: number;
}

/** Changes with the holder and its signs of life; '' if the lock is free. */
export function revisionOf({ holder, at }: LockState): string {
  return holder ? `${holder.run} ${at}` : '';
}

export const lockFormat: LogFormat<LockState> = {
  initial: () => ({ term: 0, at: 0, drainMs: 0 }),
  apply(state, text, serverTime) {
    const record = tryParseJson(text);
    if (isSnapshot(record)) Object.assign(state, record.state);
    else if (isLockRecord(record)) CHANGES[record.kind](state, { ...record, at: serverTime ?? record.at });
  },
  snapshot: (state) => [JSON.stringify({ kind: 'state', state })],
};

const CHANGES: Readonly<Record<LockRecord['kind'], (state: LockState, record: LockRecord) => void>> = {
  acquire(state, { run, process, revision, at }) {
    // Otherwise, another run won the race, or the holder has written.
    if (revision !== revisionOf(state)) return;
    Object.assign(state, { holder: { ...process, run }, drainMs: remainingDrain(state, at), at });
  },

  confirm(state, { run, drainMs, at }) {
    if (state.holder?.run === run) Object.assign(state, { term: state.term + 1, drainMs, at });
  },

  beat(state, record) {
    if (!mayChange(state, record)) return;
    const { run, process, drainMs, at } = record;
    Object.assign(state, { holder: { ...process, run }, term: Math.max(state.term, record.term), drainMs, at });
  },

  release(state, record) {
    if (!mayChange(state, record)) return;
    const { drainMs, at } = record;
    Object.assign(state, { holder: undefined, term: Math.max(state.term, record.term), drainMs, at });
  },
};

// A run that confirmed a later lock than the log shows takes the lock back: the server has lost its records.
function mayChange({ holder, term }: LockState, record: LockRecord): boolean {
  return holder?.run === record.run || record.term > term;
}

// At most `drainMs`, even if the clock was set back.
function remainingDrain(state: LockState, at: number): number {
  return Math.min(Math.max(0, state.at + state.drainMs - at), state.drainMs);
}

function isSnapshot(record: unknown): record is { readonly state: LockState } {
  if (!isObject(record) || record['kind'] !== 'state' || !isObject(record['state'])) return false;
  const { term, at, drainMs, holder } = record['state'];
  return [term, at, drainMs].every(Number.isFinite) && (holder === undefined || isObject(holder));
}

function isLockRecord(record: unknown): record is LockRecord {
  if (!isObject(record) || !isObject(record['process'])) return false;
  const { kind, run, term, at, drainMs } = record;
  return Object.hasOwn(CHANGES, String(kind)) && typeof run === 'string' && [term, at, drainMs].every(Number.isFinite);
}
