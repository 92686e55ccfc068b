// The clock of a state server, according to its replies, and the age of the last reply.
import type { Clock } from '../clock.ts';

// A reply that took longer does not show the server's time: the process may have been suspended.
const LONGEST_TRIP_MS = 1000;

/** The time of both clocks of this machine, in milliseconds. Only the wall clock is set, and runs during a suspension. */
interface Moment {
  readonly monotonic: number;
  readonly wall: number;
}

/**
 * For example, the server's clock is 30 s ahead of ours at the last reply, so the offset is 30 s.
 * - If our clock is set back by 60 s, it jumps by -60 s against the monotonic clock. The server is now 90 s ahead.
 * - If the machine is suspended for 60 s, our clock jumps by +60 s. The server's clock ran, too, so it is still 30 s ahead.
 */
export class ServerClock {
  readonly #clock: Clock;
  /** When the last request that received a reply was sent. */
  #sentAt: Moment | undefined;
  #offsetMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get moment(): Moment {
    return { monotonic: this.#clock.monotonic(), wall: this.#clock.now() };
  }

  /** Reads the server's time from a reply that has just arrived. */
  read(serverMs: number, sentAt: Moment): void {
    const receivedAt = this.#clock.now();
    const isQuick = Math.abs(receivedAt - sentAt.wall) <= LONGEST_TRIP_MS;
    const ahead = serverMs - (sentAt.wall + receivedAt) / 2;
    this.#offsetMs = isQuick || !this.#sentAt ? Math.round(ahead) : this.#offsetAt(sentAt);
    this.#sentAt = sentAt;
  }

  /** The server's clock minus ours, in milliseconds. */
  get offsetMs(): number {
    return this.#offsetAt(this.moment);
  }

  /** Whether the last reply is to a request of the last `ms` milliseconds, without a suspension or clock change since. */
  isFresh(ms: number): boolean {
    if (!this.#sentAt) return false;
    const { moment } = this;
    // Small jumps are corrections of the clock by a time server.
    const isSteady = Math.abs(this.#jumpUntil(moment)) <= ms / 3;
    return isSteady && moment.monotonic - this.#sentAt.monotonic <= ms;
  }

  // The offset, and what our clock was set back by since the last request. A clock that was set forward looks like a suspension.
  #offsetAt(moment: Moment): number {
    const setBackMs = Math.max(0, -this.#jumpUntil(moment));
    return this.#offsetMs + setBackMs;
  }

  // How far the wall clock has moved ahead of the monotonic one since the last request; negative if it was set back.
  #jumpUntil({ monotonic, wall }: Moment): number {
    if (!this.#sentAt) return 0;
    return Math.round(wall - this.#sentAt.wall - (monotonic - this.#sentAt.monotonic));
  }
}
