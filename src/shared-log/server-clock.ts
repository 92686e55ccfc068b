// The clock of a state server, known from its replies, and the age of the last reply.
//
// The offset is the server's clock minus ours, in milliseconds. Between two replies, our wall clock may jump, compared with our
// monotonic clock. For example, the server is 30 s ahead of us:
// - Our clock jumps by -60 s: it was set back. The server is now 90 s ahead.
// - Our clock jumps by +60 s: most likely, the machine was suspended, while the server's clock ran, too. It is still 30 s ahead.
import type { Clock } from '../clock.ts';

// A reply that took longer does not show the server's time: the process may have been suspended before it read the reply.
const LONGEST_TRIP_MS = 1000;

/** The time of both clocks of this machine, in milliseconds. Only the wall clock is set, and runs during a suspension. */
export interface Moment {
  readonly monotonic: number;
  readonly wall: number;
}

export class ServerClock {
  readonly #clock: Clock;
  /** When the last request that received a reply was sent. */
  #lastSentAt: Moment | undefined;
  /** The offset at that time; 0 before the first reply. */
  #lastOffsetMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get moment(): Moment {
    return { monotonic: this.#clock.monotonic(), wall: this.#clock.now() };
  }

  /**
   * Reads the server's time from a reply that has just arrived.
   * @param serverMs epoch milliseconds by the server's clock
   */
  read(serverMs: number, sentAt: Moment): void {
    const receivedAt = this.#clock.now();
    const isQuick = Math.abs(receivedAt - sentAt.wall) <= LONGEST_TRIP_MS;
    const halfway = (sentAt.wall + receivedAt) / 2;
    const isFirst = this.#lastSentAt === undefined;
    this.#lastOffsetMs = isQuick || isFirst ? Math.round(serverMs - halfway) : this.#offsetAt(sentAt);
    this.#lastSentAt = sentAt;
  }

  /** The server's clock minus ours, in milliseconds; 0 before the first reply. */
  get offsetMs(): number {
    return this.#offsetAt(this.moment);
  }

  /** Whether the last reply is to a request of the last `ms` milliseconds, without a suspension or clock change since. */
  isFresh(ms: number): boolean {
    if (!this.#lastSentAt) return false;
    const { moment } = this;
    // Small jumps are corrections of the clock by a time server.
    const isSteady = Math.abs(this.#jumpMs(moment)) <= ms / 3;
    return isSteady && moment.monotonic - this.#lastSentAt.monotonic <= ms;
  }

  #offsetAt(moment: Moment): number {
    const setBackMs = Math.max(0, -this.#jumpMs(moment));
    return this.#lastOffsetMs + setBackMs;
  }

  // How far the wall clock has moved ahead of the monotonic clock since the last request.
  #jumpMs({ monotonic, wall }: Moment): number {
    if (!this.#lastSentAt) return 0;
    const wallMs = wall - this.#lastSentAt.wall;
    return Math.round(wallMs - (monotonic - this.#lastSentAt.monotonic));
  }
}
