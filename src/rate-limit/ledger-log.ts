// The log of a ledger: on the state server; without one, or while it is unavailable, in a file of this machine; and in memory
// if that file cannot be used. A block is copied to the new log.
import type { Log } from '../append-log/log.ts';
import { MemoryLog } from '../append-log/log.ts';
import type { StreamLog } from '../append-log/stream-log.ts';
import type { Clock } from '../clock.ts';
import { PetstoreError } from '../errors.ts';
import { isSystemError } from '../system-error.ts';
import { ledgerFormat } from './ledger-format.ts';
import type { BlockReason, LedgerRecord, LogClock } from './ledger-record.ts';
import { stamped } from './ledger-record.ts';
import type { KeyState } from './policy.ts';
import { isAhead, reduce } from './policy.ts';

/** Builds a record for the log that takes it. */
export type RecordBuilder = (clock: LogClock) => LedgerRecord;

/** The log on a state server. */
export interface ServerLog {
  readonly log: StreamLog<KeyState>;
  /** Host and port. */
  readonly name: string;
  /**
   * @returns why the server is unavailable
   * @throws every other error; PetstoreError `usage` or `storage` if the server rejects the configuration
   */
  reasonOf(error: unknown): string;
}

export interface LedgerLogOptions {
  readonly clock: Clock;
  /** Opens this machine's own log, when it is first used. */
  readonly openOwn: () => Log<KeyState>;
  /** Called once, with the error of this machine's log, before the ledger continues in memory. */
  readonly onUnshared: (error: unknown) => void;
  /** Called once if the server is unavailable. */
  readonly onWarning?: ((text: string) => void) | undefined;
  readonly server?: ServerLog | undefined;
}

const RETRY_SERVER_MS = 1000;

export class LedgerLog {
  readonly #options: LedgerLogOptions;
  // Records on their way to the server.
  readonly #pending = new Map<Promise<void>, RecordBuilder>();
  #log: Log<KeyState>;
  #own: Log<KeyState> | undefined;
  #retryServerAt = 0;
  #isShared = true;
  #isClosing = false;

  constructor(options: LedgerLogOptions) {
    this.#options = options;
    this.#log = options.server?.log ?? this.#openOwn();
  }

  /** False if the log is only in the memory of this process. */
  get isShared(): boolean {
    return this.#isShared;
  }

  /** The server, while its log is in use. */
  get server(): ServerLog | undefined {
    const { server } = this.#options;
    return this.#log === server?.log ? server : undefined;
  }

  get clock(): LogClock {
    const { ahead = 0, aheadErrorMs = 0 } = this.server?.log ?? {};
    return { now: Math.round(this.#options.clock.now() + ahead), ahead, aheadErrorMs };
  }

  /** The state as last read, without the records on their way to the server. */
  last(): KeyState {
    return this.#log.last();
  }

  /** The state with the records on their way to the server: a 429 among them voids tickets. */
  latest(): KeyState {
    return this.recent() ?? this.#withPending(this.#log.last());
  }

  /** The latest state if it is recent enough to send a request. */
  recent(): KeyState | undefined {
    const state = this.#use((log) => log.freshEnough());
    return state && this.#withPending(state);
  }

  #withPending(state: KeyState): KeyState {
    if (this.#pending.size === 0) return state;
    const latest = { ...state, tickets: { ...state.tickets } };
    const { clock } = this;
    for (const build of this.#pending.values()) reduce(latest, stamped(build(clock), clock.now));
    return latest;
  }

  /** @throws PetstoreError `usage` or `storage` if the server rejects the configuration */
  async append(build: RecordBuilder): Promise<void> {
    try {
      await this.#use((log) => log.append(JSON.stringify(build(this.clock))));
    } catch (error) {
      this.#leaveServer(error);
      await this.append(build);
    }
  }

  /** Writes to a file at once, and to a server in the background. */
  write(build: RecordBuilder): void {
    if (!this.server) {
      this.#use((log) => log.append(JSON.stringify(build(this.clock))));
      return;
    }
    // The next ticket request reports that the server rejects the configuration.
    const ignored = (): undefined => undefined;
    const writing: Promise<void> = this.append(build)
      .catch(ignored)
      .finally(() => this.#pending.delete(writing));
    this.#pending.set(writing, build);
  }

  /** @param until by our clock */
  addBlock(until: number, reason: BlockReason): void {
    this.write(({ now, ahead }) => ({ kind: 'block', at: now, until: Math.round(until + ahead), reason }));
  }

  /** The latest state, after earlier records have been forgotten if they are in the future because a clock was set back. */
  adjusted(): KeyState {
    const state = this.latest();
    if (!isAhead(state, this.clock.now)) return state;
    this.write(({ now }) => ({ kind: 'clock', at: now }));
    return this.latest();
  }

  async refresh(): Promise<void> {
    try {
      await this.#use((log) => log.refresh());
    } catch (error) {
      this.#leaveServer(error);
    }
  }

  /** Waits for the records on their way to the server. */
  async written(): Promise<void> {
    await Promise.all(this.#pending.keys());
  }

  /** Writes what the server does not know yet; later errors are not reported. */
  async finish(): Promise<void> {
    this.#isClosing = true;
    this.adjusted();
    await this.written();
    const { block } = this.last();
    if (block && this.clock.now < block.until) await this.returnToServer(true);
    await this.written();
  }

  /** Uses the server again if it is available; tries once a second, or `now`. */
  async returnToServer(now = false): Promise<void> {
    const { server, clock } = this.#options;
    if (!server || this.server || (!now && clock.monotonic() < this.#retryServerAt)) return;
    this.#retryServerAt = Number.POSITIVE_INFINITY;
    try {
      // A server that only answers reads is of no use, so write a record that has no effect.
      await server.log.append(JSON.stringify({ kind: 'closed', at: 0, id: '', how: 'unsent' } satisfies LedgerRecord));
      const { block } = this.#log.last();
      this.#log = server.log;
      if (block) this.addBlock(block.until, block.reason);
    } catch {
      this.#retryServerAt = clock.monotonic() + RETRY_SERVER_MS;
    }
  }

  close(): void {
    this.#own?.close();
  }

  #leaveServer(error: unknown): void {
    const { server, clock, onWarning } = this.#options;
    if (!server) throw error;
    const reason = server.reasonOf(error);
    if (!this.server) return;
    if (!this.#own && !this.#isClosing) {
      onWarning?.(`cannot use state server ${server.name} (${reason}); the rate limit is shared only on this machine`);
    }
    const { block } = this.latest();
    const { ahead } = server.log;
    this.#retryServerAt = clock.monotonic() + RETRY_SERVER_MS;
    this.#log = this.#openOwn();
    if (block) this.addBlock(block.until - ahead, block.reason);
  }

  #openOwn(): Log<KeyState> {
    try {
      this.#own ??= this.#options.openOwn();
    } catch (error) {
      this.#own = this.#inMemory(error);
    }
    return this.#own;
  }

  // If this machine's log fails, continues in memory with its last state: a full disk does not end a block.
  #use<T>(use: (log: Log<KeyState>) => T): T {
    try {
      return use(this.#log);
    } catch (error) {
      this.#own = this.#inMemory(error, this.#log.last());
      this.#log = this.#own;
      return use(this.#log);
    }
  }

  #inMemory(error: unknown, state?: KeyState): MemoryLog<KeyState> {
    if (!(error instanceof PetstoreError) && !isSystemError(error)) throw error;
    this.#options.onUnshared(error);
    this.#isShared = false;
    return new MemoryLog(ledgerFormat, state && ledgerFormat.snapshot(state));
  }
}
