// A clock of virtual time: when everybody sleeps, time jumps to the next alarm. Nothing waits for real.
import type { Clock } from '../../src/clock.ts';

interface Alarm {
  readonly at: number;
  readonly ring: () => void;
}

/** Virtual time for any number of sleepers; `pauses` lists what was asked for. */
export class FakeClock implements Clock {
  readonly pauses: number[] = [];
  #now: number;
  #elapsed = 0;
  #alarms: Alarm[] = [];
  #pending = false;
  readonly #draw: () => number;

  constructor(now = Date.parse('2026-11-21T12:00:00.250Z'), draw: () => number = () => 0.5) {
    this.#now = now;
    this.#draw = draw;
  }

  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return this.#elapsed;
  }

  random(): number {
    return this.#draw();
  }

  /** Sets the wall clock, as a person or NTP would: nobody's alarm rings for it. */
  step(ms: number): void {
    this.#now += ms;
    this.#alarms = this.#alarms.map((alarm) => ({ ...alarm, at: alarm.at + ms }));
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (!Number.isFinite(ms) || ms < 0 || ms > 30_000) return Promise.reject(new RangeError(`sleep(${ms})`));
    if (signal?.aborted) return Promise.reject(signal.reason);
    this.pauses.push(ms);
    return new Promise((resolve, reject) => {
      const alarm: Alarm = {
        at: this.#now + ms,
        ring: () => {
          signal?.removeEventListener('abort', stop);
          resolve();
        },
      };
      const stop = (): void => {
        this.#alarms = this.#alarms.filter((one) => one !== alarm);
        reject(signal?.reason);
      };
      signal?.addEventListener('abort', stop, { once: true });
      this.#alarms.push(alarm);
      this.#arm();
    });
  }

  // An immediate comes after every promise that can go on by itself.
  #arm(): void {
    if (this.#pending) return;
    this.#pending = true;
    setImmediate(() => {
      this.#pending = false;
      this.#alarms.sort((a, b) => a.at - b.at);
      const next = this.#alarms.shift();
      if (!next) return;
      const by = Math.max(0, next.at - this.#now);
      this.#now += by;
      this.#elapsed += by;
      next.ring();
      if (this.#alarms.length > 0) this.#arm();
    });
  }
}
