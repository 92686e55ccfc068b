// Time and chance, behind one door: whoever waits or draws is handed a Clock.

/** Time and chance as the program sees them; tests hand in their own. */
export interface Clock {
  /** @returns the wall clock, in epoch milliseconds */
  now(): number;
  /** @returns a clock that never steps, in milliseconds from an arbitrary start */
  monotonic(): number;
  /**
   * Waits.
   * @param ms how long, in milliseconds; negative, NaN and infinite values are a programming error and throw RangeError
   * @param signal ends the wait early: the promise then rejects with `signal.reason`
   */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** @returns a number in [0, 1) */
  random(): number;
}

/** The longest single timer: chunks keep it far below the 2^31 ms overflow and notice a suspended machine. */
export const LONGEST_SLEEP_MS = 30_000;

/** The machine's own clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
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
