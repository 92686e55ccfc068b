// The records of a lock, and the state to which they reduce.
import type { LogFormat } from '../shared-log/log.ts';
import type { ProcessRef } from '../shared-log/process-liveness.ts';

/** Part of the lock's name, so that no version reads the records of another one. */
export const LOCK_VERSION = 3;

export interface LockState {
  /** The run that holds the lock. */
  holder?: (ProcessRef & { readonly run: string }) | undefined;
  /** The number of locks that were confirmed. It is lower than the term of a live run if a server lost records. */
  term: number;
  /** The time of the last record by the log's clock, the holder's last sign of life; 0 in an empty log. */
  at: number;
  /** The drain at the time `at`. */
  drainMs: number;
}

/** An event of a run that changes or renews the lock. */
export interface LockRecord {
  readonly kind: 'acquire' | 'confirm' | 'beat' | 'release';
  readonly run: string;
  readonly process: ProcessRef;
  /** The term of the lock when this run confirmed it; 0 before, and always in a file, which loses no records. */
  readonly term: number;
  /** For `acquire`: the revision of the lock when this run found the lock free or its holder dead. */
  readonly revision: string;
  readonly at: number;
  readonly drainMs: number;
}

/** Identifies the holder and its last sign of life; '' if the lock is free. */
export function revisionOf({ holder, at }: LockState): string {
  return holder ? `${holder.run} ${at}` : '';
}

export const lockFormat: LogFormat<LockState> = {
  initial: () => ({ term: 0, at: 0, drainMs: 0 }),
  apply(state, text, serverTime) {
    const record = JSON.parse(text) as LockRecord | { readonly kind: 'snapshot'; readonly state: LockState };
    if (record.kind === 'snapshot') Object.assign(state, record.state);
    else CHANGES[record.kind](state, { ...record, at: serverTime ?? record.at });
  },
  snapshot: (state) => [JSON.stringify({ kind: 'snapshot', state })],
};

const CHANGES: Readonly<Record<LockRecord['kind'], (state: LockState, record: LockRecord) => void>> = {
  acquire(state, { run, process, revision, at }) {
    // If the lock has changed since, another run won the race, or the holder wrote a record.
    if (revision !== revisionOf(state)) return;
    Object.assign(state, { holder: { ...process, run }, drainMs: remainingDrain(state, at), at });
  },

  confirm(state, { run, drainMs, at }) {
    if (state.holder?.run === run) Object.assign(state, { term: state.term + 1, drainMs, at });
  },

  beat(state, record) {
    setHolder(state, record, { ...record.process, run: record.run });
  },

  release(state, record) {
    setHolder(state, record, undefined);
  },
};

// A run that confirmed a later lock than the log shows takes the lock back: the server has lost its records.
function setHolder(state: LockState, { run, term, drainMs, at }: LockRecord, holder: LockState['holder']): void {
  if (state.holder?.run !== run && term <= state.term) return;
  Object.assign(state, { holder, term: Math.max(state.term, term), drainMs, at });
}

// At most `drainMs`, even if the clock was set back.
function remainingDrain(state: LockState, at: number): number {
  return Math.min(Math.max(0, state.at + state.drainMs - at), state.drainMs);
}
