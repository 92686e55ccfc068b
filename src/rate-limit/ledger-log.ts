// The log of a ledger: on the state server; without one, or while it is unavailable, in a file of this machine; and in memory
// if that file cannot be used. A block is copied to the new log.
import { FileLog } from '../append-log/file-log.ts';
import type { Log, LogFormat } from '../append-log/log.ts';
import { MemoryLog } from '../append-log/log.ts';
import type { StreamLog } from '../append-log/stream-log.ts';
import type { Clock } from '../clock.ts';
import { isSystemError, PetstoreError } from '../errors.ts';
import type { LedgerFileOptions } from './ledger-file.ts';
import { ledgerFile, unsharedWarning } from './ledger-file.ts';
import type { LedgerEvent, LedgerRecord } from './ledger-record.ts';
import { stamped } from './ledger-record.ts';
import type { KeyState } from './policy.ts';
import { initialState, isAhead, reduce } from './policy.ts';

/** Records as lines of JSON. */
export const ledgerFormat: LogFormat<KeyState> = {
  initial: initialState,
  apply(state, text, at) {
    const record = JSON.parse(text) as LedgerRecord | { readonly kind: 'snapshot'; readonly state: KeyState };
    if (record.kind === 'snapshot') Object.assign(state, record.state);
    else reduce(state, at === undefined ? record : stamped(record, at));
  },
  snapshot: (state) => [JSON.stringify({ kind: 'snapshot', state })],
};

export interface LedgerLogOptions extends LedgerFileOptions {
  readonly clock: Clock;
  /** Called once if the server is unavailable, and once if this machine's log cannot be used. */
  readonly onWarning?: ((text: string) => void) | undefined;
  /** Opens the log on a state server; `onReset` is its option. */
  readonly openServerLog?: (onReset: (before: KeyState) => void) => StreamLog<KeyState>;
}

const RETRY_SERVER_MS = 1000;

export class LedgerLog {
  readonly #options: LedgerLogOptions;
  // Records on their way to the server.
  readonly #pending = new Map<Promise<void>, LedgerEvent>();
  readonly #serverLog: StreamLog<KeyState> | undefined;
  #log: Log<KeyState>;
  #own: Log<KeyState> | undefined;
  #retryServerAt = 0;
  #isShared = true;
  #isClosing = false;

  constructor(options: LedgerLogOptions) {
    this.#options = options;
    const log = options.openServerLog?.(({ block }) =>
      this.#addBlock(block, options.clock.now() + (log?.clockOffsetMs ?? 0)),
    );
    this.#serverLog = log;
    this.#log = log ?? this.#openOwn();
  }

  /** False if the log is only in the memory of this process. */
  get isShared(): boolean {
    return this.#isShared;
  }

  /** The log on the server, while it is in use. */
  get serverLog(): StreamLog<KeyState> | undefined {
    return this.#log === this.#serverLog ? this.#serverLog : undefined;
  }

  /** The log's time, and by how much it is ahead of our clock: 0 except on a server. Milliseconds. */
  get clock(): { readonly now: number; readonly ahead: number } {
    const ahead = this.serverLog?.clockOffsetMs ?? 0;
    return { now: Math.round(this.#options.clock.now() + ahead), ahead };
  }

  /** The state as last read, with the records on their way to the server: a 429 among them voids tickets. */
  latest(): KeyState {
    return this.#withPending(this.#log.cached());
  }

  /** The state if it is recent enough to send a request; a file is read again. */
  recent(): KeyState | undefined {
    const state = this.#use((log) => log.freshState());
    return state && this.#withPending(state);
  }

  /** @throws PetstoreError `usage` or `storage` if the server rejects the configuration */
  async append(event: LedgerEvent): Promise<void> {
    try {
      await this.#use((log) => log.append(JSON.stringify(this.#dated(event))));
    } catch (error) {
      this.#leaveServer(error);
      await this.append(event);
    }
  }

  /** Writes to a file at once, and to a server in the background. */
  write(event: LedgerEvent): void {
    if (!this.serverLog) {
      this.#use((log) => log.append(JSON.stringify(this.#dated(event))));
      return;
    }
    // The next ticket request reports that the server rejects the configuration.
    const ignored = (): undefined => undefined;
    const writing: Promise<void> = this.append(event)
      .catch(ignored)
      .finally(() => this.#pending.delete(writing));
    this.#pending.set(writing, event);
  }

  /** Once a clock was set back, earlier records are in the future and are forgotten. */
  adjustToClock(): void {
    if (isAhead(this.latest(), this.clock.now)) this.write({ kind: 'clock' });
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
    this.adjustToClock();
    await this.written();
    const { block } = this.#log.cached();
    if (block && this.clock.now < block.until) await this.returnToServer(true);
    await this.written();
  }

  /** Uses the server again if it is available; tries once a second, or `now`. */
  async returnToServer(now = false): Promise<void> {
    const { clock } = this.#options;
    const log = this.#serverLog;
    if (!log || this.serverLog || (!now && clock.monotonic() < this.#retryServerAt)) return;
    this.#retryServerAt = Number.POSITIVE_INFINITY;
    try {
      // A server that only answers reads is of no use, so write a record that has no effect.
      await log.append(JSON.stringify(this.#dated({ kind: 'closed', id: '', how: 'unsent' })));
      // The clock may have been set back since, which would prolong the block.
      this.adjustToClock();
      this.#switchTo(log);
    } catch {
      this.#retryServerAt = clock.monotonic() + RETRY_SERVER_MS;
    }
  }

  close(): void {
    this.#own?.close();
  }

  #leaveServer(error: unknown): void {
    const { clock, onWarning } = this.#options;
    const server = this.#serverLog?.server;
    if (!server) throw error;
    const reason = server.outageReason(error);
    if (!this.serverLog) return;
    if (!this.#own && !this.#isClosing) {
      onWarning?.(`cannot use state server ${server.name} (${reason}); the rate limit is shared only on this machine`);
    }
    this.#retryServerAt = clock.monotonic() + RETRY_SERVER_MS;
    this.#switchTo(this.#openOwn());
  }

  #switchTo(log: Log<KeyState>): void {
    const { block } = this.latest();
    const { now } = this.clock;
    this.#log = log;
    this.#addBlock(block, now);
  }

  // Adds what is left of a block in another log; `now` is by the clock of that log.
  #addBlock(block: KeyState['block'], now: number): void {
    if (block && now < block.until) this.write({ kind: 'block', ms: block.until - now, reason: block.reason });
  }

  #withPending(state: KeyState): KeyState {
    if (this.#pending.size === 0) return state;
    const latest = { ...state, tickets: { ...state.tickets } };
    for (const event of this.#pending.values()) reduce(latest, stamped(this.#dated(event), this.clock.now));
    return latest;
  }

  // Dates a response rather too late, so that no wait ends early; the server replaces a time later than its own.
  #dated(event: LedgerEvent): LedgerRecord {
    const { now, ahead } = this.clock;
    const error = this.serverLog?.offsetErrorMs ?? 0;
    return { ...event, at: event.kind === 'response' ? Math.round(event.seen.at + ahead + error) : now };
  }

  #openOwn(): Log<KeyState> {
    try {
      this.#own ??= new FileLog(ledgerFormat, ledgerFile(this.#options));
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
      const failed = this.#log;
      this.#own = this.#inMemory(error, failed.cached());
      failed.close();
      this.#log = this.#own;
      return use(this.#log);
    }
  }

  #inMemory(error: unknown, state?: KeyState): MemoryLog<KeyState> {
    if (!(error instanceof PetstoreError) && !isSystemError(error)) throw error;
    this.#options.onWarning?.(unsharedWarning(this.#options, error));
    this.#isShared = false;
    return new MemoryLog(ledgerFormat, state && ledgerFormat.snapshot(state));
  }
}
