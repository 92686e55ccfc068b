// Virtual time for a command in this process that talks to a real server: it moves only while nothing else happens.
import { setTimeout as pause } from 'node:timers/promises';
import type { Clock } from '../../src/clock.ts';

interface Alarm {
  readonly at: number;
  readonly ring: () => void;
}

/** How long, in real milliseconds, nothing may happen before the clock jumps to the next alarm. */
const IDLE_MS = 4;

export class IdleClock implements Clock {
  #elapsed = 0;
  #alarms: Alarm[] = [];
  #events = 0;
  readonly #startedAt: number;

  constructor(now = Date.parse('2026-11-21T12:00:00.250Z')) {
    this.#startedAt = now;
  }

  readonly now = (): number => this.#startedAt + this.#elapsed;
  readonly monotonic = (): number => this.#elapsed;
  readonly random = (): number => 0.5;

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted) return Promise.reject(signal.reason);
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
      this.#alarms.push(alarm);
      signal?.addEventListener('abort', stop, { once: true });
    });
  }

  /** Tells that something happened: the clock stands still for a moment. */
  touch(): void {
    this.#events++;
  }

  /** Moves time, alarm by alarm, until the work is done. */
  async drive<T>(work: Promise<T>): Promise<T> {
    let done = false;
    const end = (): void => {
      done = true;
    };
    work.then(end, end);
    while (!done) {
      const events = this.#events + this.#alarms.length;
      await pause(IDLE_MS);
      if (!done && this.#events + this.#alarms.length === events) this.#ring();
    }
    return work;
  }

  /** Moves time by `ms`, with every alarm until then. */
  async pass(ms: number): Promise<void> {
    await this.drive(this.sleep(ms));
  }

  #ring(): void {
    this.#alarms.sort((a, b) => a.at - b.at);
    const next = this.#alarms.shift();
    if (!next) return;
    this.#elapsed = Math.max(this.#elapsed, next.at);
    this.#events++;
    next.ring();
  }
}
