// Clock and randomness, injected for tests.

export interface Clock {
  /** Wall-clock time in epoch milliseconds. */
  now(): number;
  /** Milliseconds since an arbitrary start; unaffected when the system time is changed. */
  monotonic(): number;
  /**
   * Rejects with `signal.reason` when aborted.
   * Measured by the monotonic clock: a change of the system time does not extend it.
   * @param ms at least 0, otherwise rejects with RangeError; at most LONGEST_TIMER_MS is slept
   */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** A number in [0, 1). */
  random(): number;
}

/** The longest delay of a Node.js timer. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  // Not `performance`, which takes Node 3 ms to load.
  monotonic: () => Number(process.hrtime.bigint()) / 1e6,
  random: () => Math.random(),
  sleep(ms, signal) {
    if (!(ms >= 0)) return Promise.reject(new RangeError(`cannot sleep for ${ms} ms`));
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const stop = (): void => {
        clearTimeout(timer);
        reject(signal?.reason);
      };
      const end = (): void => {
        signal?.removeEventListener('abort', stop);
        resolve();
      };
      const timer = setTimeout(end, Math.min(ms, LONGEST_TIMER_MS));
      signal?.addEventListener('abort', stop, { once: true });
    });
  },
};
