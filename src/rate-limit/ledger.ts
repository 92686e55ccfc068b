// The ledger of one key (docs/rate-limits.md): grants tickets and records responses in a log that all its processes share.
import { randomBytes } from 'node:crypto';
import type { ProcessRef } from '../shared-log/process-liveness.ts';
import { currentProcess, livenessOf } from '../shared-log/process-liveness.ts';
import type { Admission, Denied } from './admission.ts';
import { admit, isStillGranted, PENDING } from './admission.ts';
import type { LedgerLogOptions } from './ledger-log.ts';
import { LedgerLog } from './ledger-log.ts';
import type { RateLimitReading } from './ledger-record.ts';
import type { Quota } from './quota.ts';
import { quotaOf } from './quota.ts';
import { RULES } from './rules.ts';

export type TicketResult = { readonly granted: true; readonly ticket: string } | Denied;

export interface LedgerOptions extends LedgerLogOptions {
  /** Injected in tests. */
  readonly liveness?: { readonly self: ProcessRef; readonly livenessOf: typeof livenessOf };
}

/** The ledger of a key: on the server if one is given, otherwise on this machine. Its times are those of this machine's clock. */
export class Ledger {
  readonly #options: LedgerOptions;
  readonly #log: LedgerLog;
  readonly #liveness: NonNullable<LedgerOptions['liveness']>;

  /** Never throws: if this machine's log cannot be used, the ledger is kept in memory. */
  constructor(options: LedgerOptions) {
    this.#options = options;
    this.#log = new LedgerLog(options);
    this.#liveness = options.liveness ?? { self: currentProcess(), livenessOf };
  }

  /**
   * Asks for a ticket, the right to send one request now; `observe` or `release` closes it.
   * @param timeoutMs the timeout of the request, which determines the lease
   * @throws PetstoreError `usage` or `storage` if the state server rejects the configuration
   */
  async acquire(timeoutMs: number): Promise<TicketResult> {
    this.#log.tryServer();
    if (!this.#admit().granted) await this.#log.refresh();
    // A denied request leaves no record, so the log does not grow while processes wait.
    if (this.#admit().granted) {
      const ticket = randomBytes(9).toString('base64url');
      const leaseMs = timeoutMs + RULES.leaseMarginMs;
      await this.#log.append({ kind: 'ticket', id: ticket, holder: this.#liveness.self, leaseMs });
      // The ticket is missing if the record of another process came first.
      if (ticket in this.#log.cached().tickets) return { granted: true, ticket };
    }
    this.#closeDeadTickets();
    const admission = this.#admit();
    return admission.granted ? PENDING : admission;
  }

  /** The last check before the first byte: false after a 429 to another request, or once the ticket is overdue. */
  isStillGranted(ticket: string): boolean {
    const state = this.#log.freshState();
    return state !== undefined && isStillGranted(state, ticket, this.#log.now);
  }

  observe(ticket: string, reading: RateLimitReading): void {
    const jitterDraw = Math.floor(this.#options.clock.random() * 1000);
    this.#log.appendInBackground({ kind: 'response', id: ticket, reading, jitterDraw });
  }

  /** Closes a ticket without a response: `unsent` gives it back. */
  release(ticket: string, how: 'unsent' | 'lost'): void {
    this.#log.appendInBackground({ kind: how, id: ticket });
  }

  quota(): Quota {
    this.#log.adjustToClock();
    const { now, clockOffsetMs, isShared: shared, serverInUse } = this.#log;
    const quota = quotaOf(this.#log.freshState() ?? this.#log.cached(), now, clockOffsetMs);
    return { ...quota, shared, stateServer: serverInUse?.server.name ?? null };
  }

  /** Brings `quota` up to date. */
  async refresh(): Promise<void> {
    await this.#log.refresh();
  }

  /** Drops everything learned from responses, blocks included. */
  async forget(): Promise<void> {
    await this.#log.append({ kind: 'forget' });
  }

  /** Writes pending records. */
  async close(): Promise<void> {
    await this.#log.finish();
  }

  #admit(): Admission {
    this.#log.adjustToClock();
    const { now, clockOffsetMs } = this.#log;
    const admission = admit(this.#log.cached(), now);
    return 'until' in admission ? { ...admission, until: admission.until - clockOffsetMs } : admission;
  }

  // Otherwise, other processes would wait 5 s for them; whether a process on another host is dead is unknown.
  #closeDeadTickets(): void {
    for (const [id, { holder }] of Object.entries(this.#log.cached().tickets))
      if (this.#liveness.livenessOf(holder) === 'dead') this.release(id, 'lost');
  }
}
