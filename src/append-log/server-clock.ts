// The clock of a state server, according to its replies, and the age of the last reply.
import type { Clock } from '../clock.ts';

// A reply that took longer does not show the server's time: the process may have been suspended.
const LONGEST_TRIP_MS = 1000;

export class ServerClock {
  readonly #clock: Clock;
  /** When the last request that received a reply was sent. */
  #sentAt: ServerClock['moment'] | undefined;
  #offsetMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The current time of both clocks of this machine, in milliseconds. */
  get moment(): { readonly monotonic: number; readonly wall: number } {
    return { monotonic: this.#clock.monotonic(), wall: this.#clock.now() };
  }

  /** Reads the server's time from a reply that has just arrived. */
  read(serverMs: number, sentAt: ServerClock['moment']): void {
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
    return this.#clock.monotonic() - this.#sentAt.monotonic <= ms && Math.abs(this.#jumpUntil(this.moment)) <= ms / 3;
  }

  // A suspension moves the wall clock only forward, so a wall clock that is behind was set back since the last request.
  #offsetAt(moment: ServerClock['moment']): number {
    return this.#offsetMs + Math.max(0, -this.#jumpUntil(moment));
  }

  // How far the wall clock has moved ahead of the monotonic one since the last request; negative if it was set back.
  #jumpUntil({ monotonic, wall }: ServerClock['moment']): number {
    if (!this.#sentAt) return 0;
    return Math.round(wall - this.#sentAt.wall - (monotonic - this.#sentAt.monotonic));
  }
}
