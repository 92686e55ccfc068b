// The one fake clock. `new FakeClock()` jumps to the next alarm when everybody sleeps; `FakeClock.manual()` moves only by `advance`.
import type { Clock } from '../../src/clock.ts';

interface Alarm {
  readonly at: number;
  readonly ring: () => void;
}

/** Virtual time for any number of sleepers; no test waits for real. */
export class FakeClock implements Clock {
  /** Every duration that was asked for, in milliseconds. */
  readonly slept: number[] = [];
  /** The wall clock. Setting it wakes nobody, as when a person or NTP sets a clock. */
  at: number;
  #elapsed = 0;
  #alarms: Alarm[] = [];
  #pending = false;
  #manual = false;
  readonly #draw: () => number;

  constructor(now = Date.parse('2026-11-21T12:00:00.250Z'), draw: () => number = () => 0.5) {
    this.at = now;
    this.#draw = draw;
  }

  static manual(now = 0): FakeClock {
    const clock = new FakeClock(now, () => 0);
    clock.#manual = true;
    return clock;
  }

  // Passed around without its object, as those of the system clock can be.
  readonly now = (): number => this.at;

  monotonic(): number {
    return this.#elapsed;
  }

  random(): number {
    return this.#draw();
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (!Number.isFinite(ms) || ms < 0 || ms > 30_000) return Promise.reject(new RangeError(`sleep(${ms})`));
    if (signal?.aborted) return Promise.reject(signal.reason);
    this.slept.push(ms);
    return new Promise((resolve, reject) => {
      const stop = (): void => {
        this.#alarms = this.#alarms.filter((one) => one !== alarm);
        reject(signal?.reason);
      };
      const ring = (): void => {
        signal?.removeEventListener('abort', stop);
        resolve();
      };
      const alarm: Alarm = { at: this.#elapsed + ms, ring };
      signal?.addEventListener('abort', stop, { once: true });
      this.#alarms.push(alarm);
      if (!this.#manual) this.#jumpWhenIdle();
    });
  }

  /** Moves time by `ms`, wakes who is due, and lets them act. */
  async advance(ms: number): Promise<void> {
    this.#move(ms);
    const due = this.#alarms.filter(({ at }) => at <= this.#elapsed);
    this.#alarms = this.#alarms.filter(({ at }) => at > this.#elapsed);
    for (const { ring } of due) ring();
    await new Promise((resolve) => setImmediate(resolve));
  }

  // An immediate runs after every promise that can settle without time passing.
  #jumpWhenIdle(): void {
    if (this.#pending) return;
    this.#pending = true;
    setImmediate(() => {
      this.#pending = false;
      this.#alarms.sort((a, b) => a.at - b.at);
      const next = this.#alarms.shift();
      if (!next) return;
      this.#move(Math.max(0, next.at - this.#elapsed));
      next.ring();
      if (this.#alarms.length > 0) this.#jumpWhenIdle();
    });
  }

  #move(ms: number): void {
    this.at += ms;
    this.#elapsed += ms;
  }
}
