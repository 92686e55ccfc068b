// The records of a lock, and the state to which they reduce. An unknown record is ignored: another program or version has written it.
import type { LogFormat } from '../shared-log/log.ts';
import { isObject, tryParseJson } from '../shared-log/log.ts';
import type { ProcessRef } from '../shared-log/process-liveness.ts';

/** Part of the lock's name, so that no version reads the records of another one. */
export const LOCK_VERSION = 2;

/** The run that imports. */
interface Holder extends ProcessRef {
  readonly run: string;
  /**
   * Set until the holder's next record: it found an empty log on a server, which may have lost the lock of a live run. The next
   * record of any run makes that run the holder.
   */
  readonly isProvisional?: boolean;
}

export interface LockState {
  holder?: Holder | undefined;
  /** The time of the last record by the log's clock, the holder's last sign of life; 0 in an empty log. */
  at: number;
  /** The drain at the time `at`. */
  drainMs: number;
}

type RunRecord = {
  readonly run: string;
  readonly process: ProcessRef;
  readonly at: number;
  readonly drainMs: number;
} & (
  | { readonly kind: 'beat' | 'release' }
  /**
   * `revision`: that of the lock when this run found it free or its holder dead. The record is void if the lock has another
   * revision by now: another run won the race, or the holder has written.
   */
  | { readonly kind: 'acquire'; readonly revision: string; readonly isOnServer: boolean }
);

/** Changes with the holder and its signs of life; '' if the lock is free. */
export function revisionOf({ holder, at }: LockState): string {
  return holder ? `${holder.run} ${at}` : '';
}

export const lockFormat: LogFormat<LockState> = {
  initial: () => ({ at: 0, drainMs: 0 }),
  apply(state, text, serverTime) {
    const record = tryParseJson(text);
    if (isSnapshot(record)) Object.assign(state, record.state);
    else if (isRunRecord(record)) reduce(state, record, serverTime ?? record.at);
  },
  snapshot: (state) => [JSON.stringify({ kind: 'state', state })],
};

function reduce(state: LockState, { run, process, drainMs, ...record }: RunRecord, at: number): void {
  const isProvisional = state.holder?.isProvisional === true;
  switch (record.kind) {
    case 'acquire':
      if (record.revision !== revisionOf(state)) return;
      state.drainMs = remainingDrain(state, at);
      state.holder = { ...process, run, isProvisional: record.isOnServer && (state.at === 0 || isProvisional) };
      break;
    case 'beat':
    case 'release':
      // While the holder is provisional, the server may have lost the lock of the run that writes this.
      if (state.holder?.run !== run && !isProvisional) return;
      state.drainMs = drainMs;
      state.holder = record.kind === 'beat' ? { ...process, run } : undefined;
      break;
    default:
      return;
  }
  state.at = at;
}

// At most `drainMs`, even if the clock was set back.
function remainingDrain(state: LockState, at: number): number {
  return Math.min(Math.max(0, state.at + state.drainMs - at), state.drainMs);
}

function isSnapshot(record: unknown): record is { readonly state: LockState } {
  if (!isObject(record) || record['kind'] !== 'state' || !isObject(record['state'])) return false;
  const { at, drainMs, holder } = record['state'];
  return Number.isFinite(at) && Number.isFinite(drainMs) && (holder === undefined || isObject(holder));
}

function isRunRecord(record: unknown): record is RunRecord {
  if (!isObject(record) || !isObject(record['process'])) return false;
  return Number.isFinite(record['at']) && Number.isFinite(record['drainMs']) && typeof record['run'] === 'string';
}
