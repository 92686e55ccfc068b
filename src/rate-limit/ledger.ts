// The ledger of one key (docs/rate-limits.md): grants tickets and records responses in a log that all its processes share.
import { createHash, randomBytes } from 'node:crypto';
import type { ProcessRef } from '../append-log/process-liveness.ts';
import { currentProcess, livenessOf } from '../append-log/process-liveness.ts';
import type { Admission, Denied } from './admission.ts';
import { admit, stillGranted } from './admission.ts';
import type { LedgerLogOptions } from './ledger-log.ts';
import { LedgerLog } from './ledger-log.ts';
import type { RateLimitReading, TicketEnd } from './ledger-record.ts';
import type { Quota } from './quota.ts';
import { quotaOf } from './quota.ts';
import { RULES } from './rules.ts';

export type TicketResult = { readonly granted: true; readonly ticket: string } | Denied;

export interface LedgerOptions extends LedgerLogOptions {
  /** Injected in tests. */
  readonly self?: ProcessRef;
  readonly livenessOf?: typeof livenessOf;
}

// Keeps the state fresh while tickets are open, since `stillGranted` cannot wait for a server.
const REFRESH_EVERY_MS = 1000;
const PENDING: TicketResult = { granted: false, reason: 'pending' };

/** The ledger of a key: on the server if one is given, otherwise on this machine. Its times are those of this machine's clock. */
export class Ledger {
  readonly #options: LedgerOptions;
  readonly #log: LedgerLog;
  readonly #stamp = randomBytes(10).toString('base64url');
  readonly #self: ProcessRef;
  // A hash of host name, pid namespace and boot id, written into each ticket.
  readonly #host: string;
  readonly #closed = new AbortController();
  #counter = 0;
  #isKeptFresh = false;

  /** Never throws: if this machine's log cannot be used, the ledger is kept in memory. */
  constructor(options: LedgerOptions) {
    this.#options = options;
    this.#log = new LedgerLog(options);
    this.#self = options.self ?? currentProcess();
    this.#host = createHash('sha256').update(this.#self.host).digest('base64url').slice(0, 10);
  }

  /**
   * Asks for a ticket, the right to send one request now; `observe` or `release` closes it.
   * @param timeoutMs the timeout of the request, which determines the lease
   * @throws PetstoreError `usage` or `storage` if the state server rejects the configuration
   */
  async acquire(timeoutMs: number): Promise<TicketResult> {
    this.#log.tryServer();
    // A denied request leaves no record, so the log does not grow while processes wait.
    if (!this.#admit().granted) {
      await this.#log.refresh();
      const admission = this.#admit();
      if (!admission.granted) {
        this.#closeDeadTickets();
        return admission;
      }
    }
    const { pid, start } = this.#self;
    const id = `${this.#stamp}${(this.#counter++).toString(36)}`;
    const leaseMs = timeoutMs + RULES.leaseMarginMs;
    await this.#log.append({ kind: 'ticket', id, pid, start, host: this.#host, leaseMs });
    if (id in this.#log.cached().tickets) {
      void this.#keepFresh();
      return { granted: true, ticket: id };
    }
    const admission = this.#admit();
    return admission.granted ? PENDING : admission;
  }

  /** The last check before the first byte: false after a 429 to another request, or once the ticket has expired. */
  stillGranted(ticket: string): boolean {
    const state = this.#log.freshState();
    return state !== undefined && stillGranted(state, ticket, Math.max(this.#log.now, state.time));
  }

  observe(ticket: string, reading: RateLimitReading): void {
    this.#log.adjustToClock();
    const jitterDraw = Math.floor(this.#options.clock.random() * 1000);
    this.#log.appendInBackground({ kind: 'response', id: ticket, reading, jitterDraw });
  }

  /** Closes a ticket without a response: `unsent` gives it back, `lost` if the service may have seen the request. */
  release(ticket: string, how: Exclude<TicketEnd, 'dead'>): void {
    this.#log.appendInBackground({ kind: 'closed', id: ticket, how });
  }

  quota(): Quota {
    const { now, clockOffsetMs, isShared: shared, serverLog } = this.#log;
    const quota = quotaOf(this.#log.freshState() ?? this.#log.cached(), now, clockOffsetMs);
    return { ...quota, shared, stateServer: serverLog?.server.name ?? null };
  }

  /** Brings `quota` up to date. */
  async refresh(): Promise<void> {
    await this.#log.written();
    await this.#log.refresh();
    this.#log.adjustToClock();
  }

  /** Drops everything learned from responses, blocks included. */
  async forget(): Promise<void> {
    await this.#log.append({ kind: 'forget' });
  }

  /** Writes pending records. */
  async close(): Promise<void> {
    await this.#log.finish();
    this.#closed.abort();
  }

  #admit(): Admission {
    this.#log.adjustToClock();
    const state = this.#log.cached();
    const { now, clockOffsetMs } = this.#log;
    const admission = admit(state, Math.max(now, state.time));
    return 'until' in admission ? { ...admission, until: admission.until - clockOffsetMs } : admission;
  }

  async #keepFresh(): Promise<void> {
    if (this.#isKeptFresh) return;
    this.#isKeptFresh = true;
    const isOpen = (): boolean => Object.keys(this.#log.cached().tickets).some((id) => id.startsWith(this.#stamp));
    try {
      while (this.#log.serverLog && isOpen()) {
        await this.#options.clock.sleep(REFRESH_EVERY_MS, this.#closed.signal);
        await this.#log.refresh();
      }
    } catch {
      // Closed, or the server rejects the configuration; the next ticket request reports that.
    } finally {
      this.#isKeptFresh = false;
    }
  }

  // Closes the tickets of dead processes of this host; those of other hosts expire.
  #closeDeadTickets(): void {
    const judge = this.#options.livenessOf ?? livenessOf;
    for (const [id, { pid, start, host }] of Object.entries(this.#log.cached().tickets)) {
      if (host !== this.#host || judge({ pid, start, host: this.#self.host }) !== 'dead') continue;
      this.#log.appendInBackground({ kind: 'closed', id, how: 'dead' });
    }
  }
}
