// The log of a ledger: on the state server if there is one, otherwise on this machine. If the server fails, records go to this
// machine's log until the server accepts one again. At each change, the rest of a block is copied to the other log.

import type { Clock } from '../clock.ts';
import type { Log } from '../shared-log/log.ts';
import type { StreamLog } from '../shared-log/stream-log.ts';
import type { KeyState } from './key-state.ts';
import { activeBlock } from './key-state.ts';
import type { LedgerEvent } from './ledger-record.ts';
import type { MachineLogOptions } from './machine-log.ts';
import { MachineLog } from './machine-log.ts';
import { isAhead, reduce } from './policy.ts';

export interface LedgerLogOptions extends MachineLogOptions {
  readonly clock: Clock;
  /** Opens the log on a state server; `onReset` is an option of the log. */
  readonly openServerLog?: (onReset: (before: KeyState, now: number) => void) => StreamLog<KeyState>;
}

const RETRY_SERVER_MS = 1000;

export class LedgerLog {
  readonly #options: LedgerLogOptions;
  readonly #server: StreamLog<KeyState> | undefined;
  /** Opened when it is first used. */
  #machine: MachineLog | undefined;
  /** The one of these logs that is in use and receives each record. */
  #inUse: StreamLog<KeyState> | MachineLog;
  /** Records on their way to the server. */
  readonly #pending = new Map<Promise<void>, LedgerEvent>();
  /** On the monotonic clock. */
  #retryServerAt = 0;
  #warnsOfOutage = true;

  constructor(options: LedgerLogOptions) {
    this.#options = options;
    // The server may have lost the block that it had.
    this.#server = options.openServerLog?.((before, now) => this.#copyBlock(before, now));
    this.#inUse = this.#server ?? this.#openMachine();
  }

  /** False if the log is only in the memory of this process. */
  get isShared(): boolean {
    return this.serverInUse !== undefined || this.#machine?.isShared === true;
  }

  /** The log on the server, unless this machine's is in use. */
  get serverInUse(): StreamLog<KeyState> | undefined {
    return this.#inUse === this.#server ? this.#server : undefined;
  }

  /** The time of the log in use, in epoch milliseconds: the server's or ours. */
  get now(): number {
    return Math.round(this.#options.clock.now() + this.clockOffsetMs);
  }

  /** The clock of the log in use minus ours: 0 except on a server. */
  get clockOffsetMs(): number {
    return this.serverInUse?.clockOffsetMs ?? 0;
  }

  /** The state as last read, with the records on their way to the server: a 429 among them voids tickets. */
  cached(): KeyState {
    return this.#withPending(this.#inUse.cached());
  }

  /** The state if it is recent enough to send a request; a file is read again. */
  freshState(): KeyState | undefined {
    const state = this.#inUse.freshState();
    return state && this.#withPending(state);
  }

  /**
   * Reads the log in use, which then has this process's records.
   * @throws PetstoreError `usage` or `storage` if the server rejects the configuration
   */
  async refresh(): Promise<void> {
    await Promise.all([this.#call((log) => log.refresh()), this.#written()]);
  }

  /** Forgets records that are in the future because a clock was set back. */
  adjustToClock(): void {
    if (isAhead(this.cached(), this.now)) this.appendInBackground({ kind: 'clock' });
  }

  /** @throws PetstoreError `usage` or `storage` if the server rejects the configuration */
  async append(event: LedgerEvent): Promise<void> {
    await this.#call((log) => log.append(this.#lineOf(event)));
  }

  /** Writes to a file immediately, and to a server in the background. */
  appendInBackground(event: LedgerEvent): void {
    if (!this.serverInUse) {
      this.#inUse.append(this.#lineOf(event));
      return;
    }
    // The next ticket request reports that the server rejects the configuration.
    const writing: Promise<void> = this.append(event)
      .catch(() => undefined)
      .finally(() => this.#pending.delete(writing));
    this.#pending.set(writing, event);
  }

  /** Writes what the server does not know yet, including a block; later outages are not reported. */
  async finish(): Promise<void> {
    this.#warnsOfOutage = false;
    await this.#written();
    if (activeBlock(this.cached(), this.now)) await this.#returnToServer();
    await this.#written();
    this.#machine?.close();
  }

  /** Uses the server again once it is available; tries once a second. */
  tryServer(): void {
    if (this.#options.clock.monotonic() >= this.#retryServerAt) void this.#returnToServer();
  }

  // Calls the log in use or, if that is the server and it fails, the log that replaces it.
  async #call(call: (log: Log<KeyState>) => unknown): Promise<void> {
    for (;;) {
      const server = this.serverInUse?.server;
      try {
        await call(this.#inUse);
        return;
      } catch (error) {
        if (!server) throw error;
        if (!server.isOutage(error)) throw server.toPetstoreError(error);
        this.#leaveServer(server.name, error.message);
      }
    }
  }

  #leaveServer(name: string, reason: string): void {
    // A concurrent call has already left the server.
    if (!this.serverInUse) return;
    const { clock, stateDir, onWarning } = this.#options;
    const scope = stateDir === null ? 'not shared with other processes' : 'shared only on this machine';
    if (this.#warnsOfOutage) onWarning?.(`cannot use state server ${name} (${reason}); the rate limit is ${scope}`);
    this.#warnsOfOutage = false;
    this.#retryServerAt = clock.monotonic() + RETRY_SERVER_MS;
    this.#switchTo(this.#openMachine());
  }

  async #returnToServer(): Promise<void> {
    if (!this.#server || this.serverInUse) return;
    this.#retryServerAt = this.#options.clock.monotonic() + RETRY_SERVER_MS;
    try {
      // A server that responds only to reads is of no use, so write a record that has no effect.
      await this.#server.append(this.#lineOf({ kind: 'unsent', id: '' }));
    } catch {
      return;
    }
    this.#switchTo(this.#server);
  }

  #switchTo(log: StreamLog<KeyState> | MachineLog): void {
    const before = this.cached();
    const { now } = this;
    this.#inUse = log;
    this.#copyBlock(before, now);
  }

  // Adds the rest of a block of another log, whose time is `now`, to the log in use, as a refusal that states this wait.
  #copyBlock({ block, time }: KeyState, now: number): void {
    // If the clock was set back, the time of the last record bounds the rest.
    const waitMs = (block?.until ?? 0) - Math.max(now, time);
    if (!block || waitMs <= 0) return;
    const reading = { status: 429, refused: true, waitMs, waitFrom: block.reason };
    this.appendInBackground({ kind: 'response', id: '', reading, jitterDraw: 0 });
  }

  #openMachine(): MachineLog {
    this.#machine ??= new MachineLog(this.#options);
    return this.#machine;
  }

  async #written(): Promise<void> {
    await Promise.all(this.#pending.keys());
  }

  #withPending(state: KeyState): KeyState {
    if (this.#pending.size === 0) return state;
    const copy = { ...state, tickets: { ...state.tickets } };
    for (const event of this.#pending.values()) reduce(copy, { ...event, at: this.now });
    return copy;
  }

  #lineOf(event: LedgerEvent): string {
    return JSON.stringify({ ...event, at: this.now });
  }
}
