// The clock of the state server, by which all machines wait for the same moments.
import type { Clock } from '../clock.ts';

const SAMPLE_LIFE_MS = 60_000;
// A reply that took longer, for example because the process was suspended, is no reason to discard closer bounds.
const LONGEST_TRIP_MS = 1000;

/** The difference between the state server's clock and ours, bounded by the round trips of its replies. */
export class ServerClock {
  readonly #own: Clock;
  // Bounds of (server time - monotonic time), and when they were measured.
  #lo = Number.NEGATIVE_INFINITY;
  #hi = Number.POSITIVE_INFINITY;
  #since = 0;
  #mostAhead = Number.NEGATIVE_INFINITY;

  constructor(own: Clock) {
    this.#own = own;
  }

  /** Server time minus this machine's own, milliseconds; 0 before the first reply. */
  get ahead(): number {
    return this.#known ? Math.round(this.#own.monotonic() + (this.#lo + this.#hi) / 2) - this.#own.now() : 0;
  }

  /**
   * The same for the arrival of a response, never less than at an earlier reply: while a machine sleeps, its monotonic clock
   * stops. The server replaces a time that is later than its own.
   */
  get aheadOnArrival(): number {
    return Math.max(this.ahead, this.#mostAhead);
  }

  /** How far `ahead` may be off, milliseconds. */
  get errorMs(): number {
    return this.#known ? Math.ceil((this.#hi - this.#lo) / 2) : 0;
  }

  get #known(): boolean {
    return this.#lo > Number.NEGATIVE_INFINITY;
  }

  /** Updates the clock offset from a reply; the server read its clock between `sentAt` and `receivedAt`. */
  sample(serverMs: number, sentAt: number, receivedAt: number): void {
    const lo = serverMs - receivedAt;
    const hi = serverMs + 1 - sentAt;
    const isOld = receivedAt - this.#since > SAMPLE_LIFE_MS && receivedAt - sentAt <= LONGEST_TRIP_MS;
    // Bounds that exclude each other mean that a machine slept or the server's clock was set.
    if (isOld || lo > this.#hi || hi < this.#lo) {
      this.#lo = lo;
      this.#hi = hi;
      this.#since = receivedAt;
    } else {
      this.#lo = Math.max(this.#lo, lo);
      this.#hi = Math.min(this.#hi, hi);
    }
    this.#mostAhead = this.aheadOnArrival;
  }
}
