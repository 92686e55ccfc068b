// The log of a ledger: on the state server; without one, or while it is unavailable, in a file of this machine; and in memory
// if that file cannot be used. A block is copied to the new log.
import { FileLog } from '../append-log/file-log.ts';
import type { Log } from '../append-log/log.ts';
import { MemoryLog } from '../append-log/log.ts';
import type { StreamLog } from '../append-log/stream-log.ts';
import type { Clock } from '../clock.ts';
import { isSystemError, PetstoreError, systemReason } from '../errors.ts';
import type { Block, KeyState } from './key-state.ts';
import { activeBlock } from './key-state.ts';
import type { LedgerFileOptions } from './ledger-file.ts';
import { ledgerFile } from './ledger-file.ts';
import { ledgerFormat } from './ledger-format.ts';
import type { LedgerEvent, LedgerRecord } from './ledger-record.ts';
import { stamped } from './ledger-record.ts';
import { isAhead, reduce } from './policy.ts';

export interface LedgerLogOptions extends LedgerFileOptions {
  readonly clock: Clock;
  /** Called once if the server is unavailable, and once if this machine's log cannot be used. */
  readonly onWarning?: ((text: string) => void) | undefined;
  /** Opens the log on a state server; `onReset` is its option. */
  readonly openServerLog?: (onReset: (before: KeyState, now: number) => void) => StreamLog<KeyState>;
}

const RETRY_SERVER_MS = 1000;

export class LedgerLog {
  readonly #options: LedgerLogOptions;
  readonly #serverLog: StreamLog<KeyState> | undefined;
  /** The log of this machine, in a file or in memory. */
  #own: Log<KeyState> | undefined;
  /** The log in use: that of the server or of this machine. */
  #log: Log<KeyState>;
  // Records on their way to the server.
  readonly #pending = new Map<Promise<void>, LedgerEvent>();
  #isReturning = false;
  #retryServerAt = 0;
  #isClosing = false;

  constructor(options: LedgerLogOptions) {
    this.#options = options;
    // The server may have lost the block that it had.
    this.#serverLog = options.openServerLog?.(({ block }, now) => this.#addBlock(block, now));
    this.#log = this.#serverLog ?? this.#openOwn();
  }

  /** False if the log is only in the memory of this process. */
  get isShared(): boolean {
    return !(this.#log instanceof MemoryLog);
  }

  /** The log on the server, while it is in use. */
  get serverLog(): StreamLog<KeyState> | undefined {
    return this.#log === this.#serverLog ? this.#serverLog : undefined;
  }

  /** The log's time in epoch milliseconds: the server's or ours. */
  get now(): number {
    return Math.round(this.#options.clock.now() + this.clockOffsetMs);
  }

  /** The log's clock minus ours: 0 except on a server. */
  get clockOffsetMs(): number {
    return this.serverLog?.clockOffsetMs ?? 0;
  }

  /** The state as last read, with the records on their way to the server: a 429 among them voids tickets. */
  cached(): KeyState {
    return this.#withPending(this.#log.cached());
  }

  /** The state if it is recent enough to send a request; a file is read again. */
  freshState(): KeyState | undefined {
    const state = this.#use((log) => log.freshState());
    return state && this.#withPending(state);
  }

  /** Reads the log, which then has this process's records. */
  async refresh(): Promise<void> {
    try {
      await Promise.all([this.#use((log) => log.refresh()), this.#written()]);
    } catch (error) {
      this.#leaveServer(error);
    }
  }

  /** @throws PetstoreError `usage` or `storage` if the server rejects the configuration */
  async append(event: LedgerEvent): Promise<void> {
    try {
      await this.#use((log) => log.append(this.#lineOf(event)));
    } catch (error) {
      this.#leaveServer(error);
      await this.append(event);
    }
  }

  /** Writes to a file at once, and to a server in the background. */
  appendInBackground(event: LedgerEvent): void {
    if (!this.serverLog) {
      this.#use((log) => log.append(this.#lineOf(event)));
      return;
    }
    // The next ticket request reports that the server rejects the configuration.
    const writing: Promise<void> = this.append(event)
      .catch(() => undefined)
      .finally(() => this.#pending.delete(writing));
    this.#pending.set(writing, event);
  }

  /** Once a clock was set back, earlier records are in the future and are forgotten. */
  adjustToClock(): void {
    if (isAhead(this.cached(), this.now)) this.appendInBackground({ kind: 'clock' });
  }

  /** Writes what the server does not know yet; later errors are not reported. */
  async finish(): Promise<void> {
    this.#isClosing = true;
    this.adjustToClock();
    await this.#written();
    if (activeBlock(this.cached(), this.now)) await this.#returnToServer();
    await this.#written();
    this.#own?.close();
  }

  /** Uses the server again once it is available; tries once a second. */
  tryServer(): void {
    if (this.#options.clock.monotonic() >= this.#retryServerAt) void this.#returnToServer();
  }

  async #returnToServer(): Promise<void> {
    const log = this.#serverLog;
    if (!log || this.serverLog || this.#isReturning) return;
    this.#isReturning = true;
    try {
      // A server that only answers reads is of no use, so write a record that has no effect.
      await log.append(this.#lineOf({ kind: 'closed', id: '', how: 'unsent' }));
      // The clock may have been set back since, which would prolong the block.
      this.adjustToClock();
      this.#switchTo(log);
    } catch {
      this.#retryServerAt = this.#options.clock.monotonic() + RETRY_SERVER_MS;
    } finally {
      this.#isReturning = false;
    }
  }

  // Continues on this machine if the server is unavailable; rethrows every other error.
  #leaveServer(error: unknown): void {
    const { clock, stateDir, onWarning } = this.#options;
    const server = this.#serverLog?.server;
    if (!server) throw error;
    const reason = server.outageReason(error);
    if (!this.serverLog) return;
    if (!this.#own && !this.#isClosing) {
      const scope = stateDir === null ? 'kept in memory' : 'shared only on this machine';
      onWarning?.(`cannot use state server ${server.name} (${reason}); the rate limit is ${scope}`);
    }
    this.#retryServerAt = clock.monotonic() + RETRY_SERVER_MS;
    this.#switchTo(this.#openOwn());
  }

  #switchTo(log: Log<KeyState>): void {
    const { block } = this.cached();
    const { now } = this;
    this.#log = log;
    this.#addBlock(block, now);
  }

  // Adds the rest of a block of another log, whose time is `now`.
  #addBlock(block: Block | undefined, now: number): void {
    if (!block || now >= block.until) return;
    this.appendInBackground({ kind: 'block', ms: block.until - now, reason: block.reason });
  }

  async #written(): Promise<void> {
    await Promise.all(this.#pending.keys());
  }

  #withPending(state: KeyState): KeyState {
    if (this.#pending.size === 0) return state;
    const copy = { ...state, tickets: { ...state.tickets } };
    for (const event of this.#pending.values()) reduce(copy, stamped(this.#dated(event), this.now));
    return copy;
  }

  #lineOf(event: LedgerEvent): string {
    return JSON.stringify(this.#dated(event));
  }

  // Dates a response late rather than early, so that no wait ends too soon; the server replaces a time later than its own.
  #dated(event: LedgerEvent): LedgerRecord {
    if (event.kind !== 'response') return { ...event, at: this.now };
    const errorMs = this.serverLog?.offsetErrorMs ?? 0;
    return { ...event, at: Math.round(event.reading.at + this.clockOffsetMs + errorMs) };
  }

  #openOwn(): Log<KeyState> {
    const isTemporary = this.#options.stateDir === null;
    try {
      this.#own ??= isTemporary ? new MemoryLog(ledgerFormat) : new FileLog(ledgerFormat, ledgerFile(this.#options));
    } catch (error) {
      this.#own = this.#inMemoryAfter(error);
    }
    return this.#own;
  }

  // If this machine's log fails, continues in memory with its last state: a full disk does not end a block.
  #use<T>(use: (log: Log<KeyState>) => T): T {
    try {
      return use(this.#log);
    } catch (error) {
      const failed = this.#log;
      this.#own = this.#inMemoryAfter(error, failed.cached());
      failed.close();
      this.#log = this.#own;
      return use(this.#log);
    }
  }

  #inMemoryAfter(error: unknown, state?: KeyState): MemoryLog<KeyState> {
    if (!(error instanceof PetstoreError) && !isSystemError(error)) throw error;
    const { stateDir, onWarning } = this.#options;
    const problem = stateDir
      ? `cannot write to ${stateDir} (${systemReason(error)})`
      : 'cannot determine the home directory';
    onWarning?.(`${problem}; the rate limit is not shared with other processes`);
    return new MemoryLog(ledgerFormat, state && ledgerFormat.snapshot(state));
  }
}
