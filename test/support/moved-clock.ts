// A clock that a test moves by hand: nobody wakes before it does, however long the test takes.
import type { Clock } from '../../src/clock.ts';

/**
 * @param start the wall clock at first, epoch milliseconds
 * @returns the clock; `advance` moves it by milliseconds, wakes who is due, and lets them act
 */
export function movedClock(start = 0): Clock & { advance(ms: number): Promise<void> } {
  let now = start;
  let sleepers: { at: number; wake: () => void }[] = [];
  return {
    now: () => now,
    monotonic: () => now - start,
    random: () => 0,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
        sleepers.push({ at: now + ms, wake: resolve });
      }),
    async advance(ms) {
      now += ms;
      const due = sleepers.filter(({ at }) => at <= now);
      sleepers = sleepers.filter(({ at }) => at > now);
      for (const { wake } of due) wake();
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
}
