// The lock of a journal: whether the run that holds it is alive (docs/import.md, the lock).
import type { ProcessRef } from '../append-log/process-liveness.ts';
import { currentProcess, isAlive } from '../append-log/process-liveness.ts';
import type { Clock } from '../clock.ts';
import { PetstoreError } from '../errors.ts';
import type { JournalLog } from './journal-files.ts';
import type { JournalRecord, LockHolder } from './journal-state.ts';

/** A run whose process cannot be judged counts as dead once it has written nothing for this long, milliseconds. */
export const SILENCE_MS = 60_000;
const LOOK_EVERY_MS = 1000;

/** This process, and how others are judged; tests pass their own. */
export interface ProcessProbe {
  readonly self: ProcessRef;
  readonly isAlive: (process: ProcessRef) => 'alive' | 'dead' | 'unknown';
}

export interface LockOptions {
  readonly clock: Clock;
  /** Ends a wait at once. */
  readonly signal: AbortSignal;
  readonly processes?: ProcessProbe | undefined;
  /** Called every second of a wait, with the milliseconds left at most. */
  readonly onWait?: ((leftMs: number) => void) | undefined;
}

export function currentProcessProbe(): ProcessProbe {
  return { self: currentProcess(), isAlive };
}

/**
 * Waits until the lock of a journal is free, and ends the lock of a run that is dead. Wall clocks are never compared:
 * a run of another machine or container is watched for SILENCE_MS on this machine's monotonic clock.
 * @throws PetstoreError `usage` where the run that holds it is alive
 */
export async function expireDeadHolder(log: JournalLog, options: LockOptions, what?: string): Promise<void> {
  const { isAlive: judge } = options.processes ?? currentProcessProbe();
  for (;;) {
    const { lock } = await log.refresh();
    if (!lock) return;
    const state = judge(lock);
    if (state === 'alive' || (state === 'unknown' && (await showsLife(log, lock, options)))) {
      throw alreadyRunning(lock, what);
    }
    // Void where the holder has written since: the loop then judges it again.
    await log.append(JSON.stringify(['expire', lock.run, lock.beats] satisfies JournalRecord));
  }
}

async function showsLife(
  log: JournalLog,
  holder: LockHolder,
  { clock, signal, onWait }: LockOptions,
): Promise<boolean> {
  const until = clock.monotonic() + SILENCE_MS;
  for (let left = SILENCE_MS; left > 0; left = until - clock.monotonic()) {
    onWait?.(left);
    await clock.sleep(Math.min(left, LOOK_EVERY_MS), signal);
    const { lock } = await log.refresh();
    if (lock?.run !== holder.run) return false;
    if (lock.beats !== holder.beats) return true;
  }
  return false;
}

/** @param what names what is imported */
export function alreadyRunning(holder: ProcessRef, what = 'these rows'): PetstoreError {
  return new PetstoreError('usage', `another run is already importing ${what} (process ${holder.pid})`, {
    hint: 'wait for it to finish, or stop it with Ctrl-C and run this command again to resume',
  });
}
