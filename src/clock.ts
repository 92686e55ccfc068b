// Clock and randomness, injected for tests.
import { setTimeout } from 'node:timers/promises';

export interface Clock {
  /** Wall-clock time in epoch milliseconds. */
  now(): number;
  /** Milliseconds since an arbitrary start; unaffected when the system time is changed. */
  monotonic(): number;
  /**
   * Uses the monotonic clock, so a change of the system time has no effect; rejects with `signal.reason` when aborted.
   * @param ms at least 0 (otherwise rejects with RangeError); cut to MAX_TIMER_MS
   */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** A number in [0, 1). */
  random(): number;
}

/** The longest delay of a Node.js timer. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  // `performance` would take almost a millisecond to load.
  monotonic: () => Number(process.hrtime.bigint()) / 1e6,
  random: () => Math.random(),
  async sleep(ms, signal) {
    if (!(ms >= 0)) throw new RangeError(`cannot sleep for ${ms} ms`);
    try {
      await setTimeout(Math.min(ms, MAX_TIMER_MS), undefined, { signal });
    } catch {
      throw signal?.reason;
    }
  },
};
