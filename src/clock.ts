// Clock and randomness, injected for tests.

export interface Clock {
  /** Wall-clock time in epoch milliseconds. */
  now(): number;
  /** Milliseconds since an arbitrary start; unaffected when the system time is changed. */
  monotonic(): number;
  /**
   * Rejects with `signal.reason` when aborted.
   * @param ms from 0 to LONGEST_SLEEP_MS; otherwise rejects with RangeError
   */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** A number in [0, 1). */
  random(): number;
}

/** The longest delay of a Node.js timer. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;
/** Longer waits are split, to stay below the limit of a timer and to notice a suspended machine. */
export const LONGEST_SLEEP_MS = 30_000;

export const systemClock: Clock = {
  now: () => Date.now(),
  // Not `performance`, which takes Node 3 ms to load.
  monotonic: () => Number(process.hrtime.bigint()) / 1e6,
  random: () => Math.random(),
  sleep(ms, signal) {
    if (!Number.isFinite(ms) || ms < 0 || ms > LONGEST_SLEEP_MS) {
      return Promise.reject(new RangeError(`sleep(${ms}) is outside 0..${LONGEST_SLEEP_MS} ms`));
    }
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const stop = (): void => {
        clearTimeout(timer);
        reject(signal?.reason);
      };
      const timer = setTimeout(() => {
        signal?.removeEventListener('abort', stop);
        resolve();
      }, ms);
      signal?.addEventListener('abort', stop, { once: true });
    });
  },
};

/** Sleeps for any time, measured by the monotonic clock: a change of the system time does not extend it. */
export async function sleepLong(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  const until = clock.monotonic() + ms;
  for (let left = ms; left > 0; left = until - clock.monotonic()) {
    await clock.sleep(Math.min(left, LONGEST_SLEEP_MS), signal);
  }
}
