// The append-only log as a stream on a Valkey or Redis server: many machines append, and all reduce the same state.
//
// Each call names the last entry that this process knows, and returns the entries after it (stream-scripts.ts). If the server
// does not have that entry (data loss, a failover, a rotation long ago), the process reduces all entries again. After a
// rotation, the first entry has a snapshot of the state, its own record included.
import type { Clock } from '../clock.ts';
import type { Log, LogFormat } from './log.ts';
import { DATA_LOST, StateServerError } from './state-server-error.ts';
import type { Entry, Stream } from './stream-scripts.ts';
import { compact, exchange, isLater } from './stream-scripts.ts';

// A reply that took longer does not show the server's time: the process may have been suspended before it read the reply.
const LONGEST_TRIP_MS = 1000;

export interface StreamOptions<State> extends Stream {
  readonly clock: Clock;
  /** The maximum age of a read for `freshState` to return the state, in milliseconds. */
  readonly freshMs: number;
  /** The log is rotated when it has this many entries, and at multiples of this number. */
  readonly rotateAt: number;
  /** Called with the previous state when all entries were reduced again: known records may be missing. */
  readonly onReset?: (before: State, now: number) => void;
}

/** The log in one key of the server. Its asynchronous methods reject with StateServerError. */
export class StreamLog<State> implements Log<State> {
  readonly #format: LogFormat<State, unknown>;
  readonly #options: StreamOptions<State>;
  readonly #serverClock: ServerClock;
  #state: State;
  /** The last entry that the state contains. */
  #last: Entry | undefined;

  constructor(format: LogFormat<State, unknown>, options: StreamOptions<State>) {
    this.#format = format;
    this.#options = options;
    this.#serverClock = new ServerClock(options.clock);
    this.#state = format.initial();
  }

  /** The server's clock minus this machine's clock according to the last reply, in milliseconds. */
  get clockOffsetMs(): number {
    return this.#serverClock.offsetMs;
  }

  cached(): State {
    return this.#state;
  }

  freshState(): State | undefined {
    return this.#serverClock.isFresh(this.#options.freshMs) ? this.#state : undefined;
  }

  async refresh(): Promise<State> {
    await this.#exchange();
    return this.#state;
  }

  /** May add the record twice after a lost reply. */
  async append(record: string): Promise<void> {
    const length = await this.#exchange(record);
    // Of all writers, only the one whose record makes the log this long rotates it.
    if (length % this.#options.rotateAt === 0) await this.#compact();
  }

  /** Does nothing, since the connection belongs to the StateServer. */
  close(): void {}

  // Appends the record, if there is one, and reduces the new entries. Returns the length of the log.
  async #exchange(record?: string): Promise<number> {
    let reply = await this.#send(record);
    if (reply.is === 'lost') {
      await this.#compact();
      reply = await this.#send(record);
    }
    if (reply.is === 'lost') throw new StateServerError(DATA_LOST);
    if (record !== undefined && reply.entries.at(-1)?.record !== record) throw new StateServerError(DATA_LOST);
    this.#serverClock.read(reply.serverMs, reply.sentAt);
    if (reply.is === 'known') this.#reduce(reply.entries);
    else this.#reduceAgain(reply.entries);
    return reply.length;
  }

  async #send(record: string | undefined) {
    const sentAt = this.#serverClock.moment;
    return { ...(await exchange(this.#options, this.#last, record)), sentAt };
  }

  #reduceAgain(entries: readonly Entry[]): void {
    const before = this.#last && this.#state;
    this.#state = this.#format.initial();
    this.#last = undefined;
    this.#reduce(entries);
    if (before) this.#options.onReset?.(before, this.#options.clock.now() + this.clockOffsetMs);
  }

  #reduce(entries: readonly Entry[]): void {
    for (const entry of entries) {
      // Skip entries that the reply to a concurrent call contained.
      if (this.#last && !isLater(entry, this.#last)) continue;
      this.#last = entry;
      if (entry.snapshot === undefined) this.#format.apply(this.#state, entry.record, entry.at);
      else this.#restore(entry.snapshot);
    }
  }

  #restore(records: readonly string[]): void {
    this.#state = this.#format.initial();
    for (const record of records) this.#format.apply(this.#state, record);
  }

  // Rotates the log, or writes it again if the server has lost it.
  async #compact(): Promise<void> {
    await compact(this.#options, this.#last, this.#format.snapshot(this.#state), this.#options.rotateAt);
  }
}

/** The time of both clocks of this machine, in milliseconds. Only the wall clock can be set, and runs during a suspension. */
interface Moment {
  readonly monotonic: number;
  readonly wall: number;
}

/**
 * The clock of a state server, known from its replies, and the age of the last reply. The offset is the server's clock minus
 * this machine's wall clock, in milliseconds. Between two replies, the wall clock may jump, compared with the monotonic clock.
 * For example, the server is 30 s ahead:
 * - The wall clock jumps by -60 s: it was set back. The server is now 90 s ahead.
 * - The wall clock jumps by +60 s: most likely, this machine was suspended, while the server's clock ran. The server is still 30 s
 *   ahead.
 */
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

  /** The server's clock minus this machine's wall clock, in milliseconds; 0 before the first reply. */
  get offsetMs(): number {
    return this.#offsetAt(this.moment);
  }

  /** Whether the request of the last reply was sent at most `ms` milliseconds ago, including suspensions of this machine. */
  isFresh(ms: number): boolean {
    if (!this.#lastSentAt) return false;
    const { moment } = this;
    const suspendedMs = Math.max(0, this.#jumpMs(moment));
    return moment.monotonic - this.#lastSentAt.monotonic + suspendedMs <= ms;
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
