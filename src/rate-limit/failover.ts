// The ledger of several machines: on the state server, or this machine's own while the server is unavailable
// (docs/fleet.md).
import type { StateServer } from '../append-log/state-server.ts';
import { StreamLog } from '../append-log/stream-log.ts';
import { StateServerError } from '../append-log/valkey-connection.ts';
import type { Clock } from '../clock.ts';
import type { Ledger, TicketResult } from './ledger.ts';
import { LogLedger } from './ledger.ts';
import type { Observation, TicketEnd } from './ledger-record.ts';
import { formatRecord, parseRecord, stamped } from './ledger-record.ts';
import { ledgerName } from './paths.ts';
import type { KeyState } from './policy.ts';
import type { QuotaView } from './quota-view.ts';
import { ledgerFormat } from './reducer.ts';
import { LEDGER_VERSION } from './rules.ts';
import { ServerClock } from './server-clock.ts';

export interface FailoverOptions {
  readonly server: StateServer;
  readonly identity: string;
  readonly key: string;
  readonly clock: Clock;
  readonly openOwn: () => LogLedger;
  readonly onWarning?: ((text: string) => void) | undefined;
}

const ROTATE_AT = 200;
const KEEP_MS = 48 * 3_600_000;
const RETRY_EVERY_MS = 1000;
// Older state may lack a 429 that another machine received.
const RECENT_MS = 1500;
// Keeps the state recent while tickets are open, since `confirm` cannot wait for the server.
const REFRESH_EVERY_MS = 1000;

/** Its methods reject with PetstoreError `usage` or `storage` if the server rejects the configuration. */
export class FailoverLedger implements Ledger {
  readonly #options: FailoverOptions;
  readonly #log: StreamLog<KeyState>;
  readonly #shared: LogLedger;
  // The ledger that granted each open ticket of this process.
  readonly #tickets = new Map<string, LogLedger>();
  readonly #closed = new AbortController();
  #opened: LogLedger | undefined;
  #usesOwn = false;
  #retryAt = 0;
  #refreshing = false;
  // The latest refusals, whose records the server may not have received.
  #refusals: readonly { readonly ticket: string; readonly seen: Observation }[] = [];

  constructor(options: FailoverOptions) {
    const { server, identity, key, clock, onWarning } = options;
    this.#options = options;
    const serverClock = new ServerClock(clock);
    this.#log = new StreamLog(ledgerFormat, {
      server,
      key: `petstore:{${ledgerName(identity, key)}}:ledger-${LEDGER_VERSION}`,
      ...{ ttlMs: KEEP_MS, rotateAt: ROTATE_AT, recentMs: RECENT_MS, clock, stamp },
      onTime: (serverMs, sentAt, receivedAt) => serverClock.sample(serverMs, sentAt, receivedAt),
      onReset: ({ block }) => block && this.#shared.inherit({ ...block, until: block.until - serverClock.ahead }),
      ...(onWarning && { onWarning }),
    });
    this.#shared = new LogLedger({ log: this.#log, clock, serverClock });
  }

  async acquire(timeoutMs: number): Promise<TicketResult> {
    if (this.#usesOwn && this.#options.clock.monotonic() >= this.#retryAt) void this.#switchToShared();
    return this.#orOwn(async (ledger) => {
      const result = await ledger.acquire(timeoutMs);
      if (result.granted) this.#tickets.set(result.ticket, ledger);
      if (result.granted && ledger === this.#shared) void this.#keepRecent();
      return result;
    });
  }

  confirm(ticket: string): boolean {
    const ledger = this.#tickets.get(ticket);
    // The other ledger may not know a block of this one.
    return ledger === this.#current && ledger.confirm(ticket);
  }

  observe(ticket: string, seen: Observation): void {
    const ledger = this.#end(ticket);
    ledger.observe(ticket, seen);
    if (ledger !== this.#shared) {
      // The shared ledger has been in use again since the ticket was granted.
      if (!this.#usesOwn) this.#shareBlock();
      return;
    }
    if (seen.refused) this.#refusals = [...this.#unrecorded(), { ticket, seen }];
    if (this.#usesOwn) this.#own.observe(ticket, seen);
  }

  release(ticket: string, how: Exclude<TicketEnd, 'dead'>): void {
    this.#end(ticket).release(ticket, how);
  }

  view(): QuotaView {
    return this.#usesOwn ? this.#own.view() : { ...this.#shared.view(), stateServer: this.#options.server.name };
  }

  refresh(): Promise<void> {
    return this.#orOwn((ledger) => ledger.refresh());
  }

  forget(): Promise<void> {
    return this.#orOwn((ledger) => ledger.forget());
  }

  // Waits for all replies: closing with one unread resets the connection and may lose the last record.
  async close(): Promise<void> {
    const isKnown = this.#log.last().seq > 0;
    if (this.#usesOwn && (isKnown || this.#own.view().blocked)) await this.#switchToShared();
    await this.#shared.close();
    this.#closed.abort();
    this.#options.server.close();
    await this.#opened?.close();
  }

  get #own(): LogLedger {
    this.#opened ??= this.#options.openOwn();
    return this.#opened;
  }

  get #current(): LogLedger {
    return this.#usesOwn ? this.#own : this.#shared;
  }

  #end(ticket: string): LogLedger {
    const ledger = this.#tickets.get(ticket) ?? this.#current;
    this.#tickets.delete(ticket);
    return ledger;
  }

  async #orOwn<T>(use: (ledger: LogLedger) => Promise<T>): Promise<T> {
    try {
      return await use(this.#current);
    } catch (error) {
      this.#switchToOwn(error);
      return use(this.#own);
    }
  }

  // Switches to this machine's own ledger, which inherits the block. Rethrows other errors and rejections by the server.
  #switchToOwn(error: unknown): void {
    const { server, clock, onWarning } = this.#options;
    if (!(error instanceof StateServerError)) throw error;
    if (error.problem === 'rejected') throw server.toPetstoreError(error);
    if (this.#usesOwn) return;
    if (!this.#opened) {
      const problem = `cannot use state server ${server.name} (${error.message})`;
      onWarning?.(`${problem}; the rate limit is shared only on this machine`);
    }
    const { blocked } = this.#shared.view();
    this.#usesOwn = true;
    this.#retryAt = clock.monotonic() + RETRY_EVERY_MS;
    if (blocked) this.#own.inherit(blocked);
    for (const { ticket, seen } of this.#unrecorded()) this.#own.observe(ticket, seen);
  }

  // The server did not receive a refusal if its log still shows the ticket.
  #unrecorded() {
    return this.#refusals.filter(({ ticket }) => ticket in this.#log.last().tickets);
  }

  async #switchToShared(): Promise<void> {
    this.#retryAt = this.#options.clock.monotonic() + RETRY_EVERY_MS;
    try {
      await this.#log.refresh();
    } catch {
      // A later request tries again.
      return;
    }
    this.#usesOwn = false;
    this.#shareBlock();
    this.#shared.resend();
  }

  #shareBlock(): void {
    const { blocked } = this.#own.view();
    if (blocked) this.#shared.inherit(blocked);
  }

  async #keepRecent(): Promise<void> {
    if (this.#refreshing) return;
    this.#refreshing = true;
    try {
      while ([...this.#tickets.values()].includes(this.#shared)) {
        await this.#options.clock.sleep(REFRESH_EVERY_MS, this.#closed.signal);
        await this.#log.refresh();
      }
    } catch {
      // Closed, or the server is unavailable; the next ticket restarts the loop.
    } finally {
      this.#refreshing = false;
    }
  }
}

function stamp(text: string, at: number): string {
  const record = parseRecord(text);
  return record ? formatRecord(stamped(record, at)) : text;
}
