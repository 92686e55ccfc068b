// The state server's clock as this process knows it: all machines wait for the same moments, whatever their own clocks say.
import type { Clock } from '../clock.ts';

const SAMPLE_LIFE_MS = 60_000;
// The wall clock moved against the monotonic one: the machine was suspended, or its clock was set.
const JUMP_MS = 500;

/** Server time, bounded by the round trips of its replies; this machine's own time before the first one, or while `away`. */
export class ServerClock implements Clock {
  readonly #own: Clock;
  // Bounds of (server time - monotonic time), and when they were measured.
  #lo = Number.NEGATIVE_INFINITY;
  #hi = Number.POSITIVE_INFINITY;
  #since = 0;
  #wallAhead = 0;
  away = false;

  constructor(own: Clock) {
    this.#own = own;
  }

  /** How far `now` may be off, milliseconds. */
  get errorMs(): number {
    return this.#known ? Math.ceil((this.#hi - this.#lo) / 2) : 0;
  }

  get #known(): boolean {
    return this.#lo > Number.NEGATIVE_INFINITY;
  }

  /** Server time minus this machine's own, milliseconds. */
  get ahead(): number {
    return this.server() - this.#own.now();
  }

  now(): number {
    return this.away ? this.#own.now() : this.server();
  }

  /** The server's time, also while it is away. */
  server(): number {
    return this.#known ? Math.round(this.#own.monotonic() + (this.#lo + this.#hi) / 2) : this.#own.now();
  }

  monotonic(): number {
    return this.#own.monotonic();
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return this.#own.sleep(ms, signal);
  }

  random(): number {
    return this.#own.random();
  }

  /** Whether the machine slept, or its clock was set, since the last reply. */
  jumped(): boolean {
    return this.#known && Math.abs(this.#own.now() - this.#own.monotonic() - this.#wallAhead) > JUMP_MS;
  }

  /** Takes in a reply: the server read its clock, in whole milliseconds, between our two monotonic times. */
  sample(serverMs: number, sentAt: number, receivedAt: number): void {
    const lo = serverMs - receivedAt;
    const hi = serverMs + 1 - sentAt;
    const stale = receivedAt - this.#since > SAMPLE_LIFE_MS || this.jumped();
    // Bounds that exclude each other mean that the server's clock was set.
    if (stale || lo > this.#hi || hi < this.#lo) {
      this.#lo = lo;
      this.#hi = hi;
      this.#since = receivedAt;
    } else {
      this.#lo = Math.max(this.#lo, lo);
      this.#hi = Math.min(this.#hi, hi);
    }
    this.#wallAhead = this.#own.now() - this.#own.monotonic();
  }
}
