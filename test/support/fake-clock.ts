// Fake clocks: `FakeClock` jumps to the next alarm when all work sleeps, and `ManualClock` moves by `advance`, or by `drive`
// when a command and its real servers are idle.
import { setTimeout as pause } from 'node:timers/promises';
import type { Clock } from '../../src/clock.ts';

interface Alarm {
  readonly at: number;
  readonly ring: () => void;
}

const START = Date.parse('2026-11-21T12:00:10Z');

export class FakeClock implements Clock {
  /** The durations of all sleeps, in milliseconds. */
  readonly slept: number[] = [];
  /** The wall clock, in epoch milliseconds. Setting it wakes no sleeper, like a real clock change. */
  at: number;
  protected alarms: Alarm[] = [];
  #elapsed = 0;
  #pending = false;
  readonly #draw: () => number;

  constructor(now = START, draw: () => number = () => 0.5) {
    this.at = now;
    this.#draw = draw;
  }

  // These methods are bound, because callers may detach them.
  readonly now = (): number => this.at;
  readonly monotonic = (): number => this.#elapsed;
  readonly random = (): number => this.#draw();

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (!(ms >= 0)) return Promise.reject(new RangeError(`sleep(${ms})`));
    if (signal?.aborted) return Promise.reject(signal.reason);
    this.slept.push(ms);
    return new Promise((resolve, reject) => {
      const stop = (): void => {
        this.alarms = this.alarms.filter((one) => one !== alarm);
        reject(signal?.reason);
      };
      const ring = (): void => {
        signal?.removeEventListener('abort', stop);
        resolve();
      };
      const alarm: Alarm = { at: this.#elapsed + ms, ring };
      signal?.addEventListener('abort', stop, { once: true });
      this.alarms.push(alarm);
      this.whenAsleep();
    });
  }

  /** Moves time to the next alarm and wakes its sleeper. */
  protected ringNext(): void {
    this.alarms.sort((a, b) => a.at - b.at);
    const next = this.alarms.shift();
    if (!next) return;
    this.move(Math.max(0, next.at - this.#elapsed));
    next.ring();
  }

  // An immediate runs after all promises that can settle at the current time.
  protected whenAsleep(): void {
    if (this.#pending) return;
    this.#pending = true;
    setImmediate(() => {
      this.#pending = false;
      this.ringNext();
      if (this.alarms.length > 0) this.whenAsleep();
    });
  }

  protected move(ms: number): void {
    this.at += ms;
    this.#elapsed += ms;
  }
}

/** `drive` jumps to the next alarm after this many turns of the event loop (1 ms each) without an event. */
const IDLE_TURNS = 2;

export class ManualClock extends FakeClock {
  #events = 0;

  constructor(now = 0, draw = () => 0) {
    super(now, draw);
  }

  protected override whenAsleep(): void {}

  /** Moves time by `ms`, wakes the sleepers that are due, and lets them run. */
  async advance(ms: number): Promise<void> {
    this.move(ms);
    const due = this.alarms.filter(({ at }) => at <= this.monotonic());
    this.alarms = this.alarms.filter(({ at }) => at > this.monotonic());
    for (const { ring } of due) ring();
    await new Promise((resolve) => setImmediate(resolve));
  }

  /** Reports an event, which delays the next jump. */
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
      const events = this.#events + this.alarms.length;
      // Each turn reads sockets, even if this process was not scheduled for a while.
      for (let turn = 0; turn < IDLE_TURNS; turn++) await pause(1);
      if (done || this.#events + this.alarms.length !== events) continue;
      this.#events++;
      this.ringNext();
    }
    return work;
  }
}
