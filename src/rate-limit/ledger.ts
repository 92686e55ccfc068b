// The ledger of one key (docs/rate-limits.md): grants tickets and records responses in a log that all its processes share.
import { randomBytes } from 'node:crypto';
import type { Clock } from '../clock.ts';
import type { Place } from '../shared-log/failover-log.ts';
import { FailoverLog } from '../shared-log/failover-log.ts';
import type { Admission, Denial } from './admission.ts';
import { admit, isStillGranted, PENDING } from './admission.ts';
import type { KeyState, LedgerEvent, RateLimitReading } from './key-state.ts';
import { activeBlock, ticketOf } from './key-state.ts';
import { isAhead, recordOf, reduce } from './policy.ts';
import type { Quota } from './quota.ts';
import { quotaOf } from './quota.ts';
import { RULES } from './rules.ts';

export type TicketResult = { readonly granted: true; readonly ticket: string } | Denial;

/** A place for the log of a ledger, and how `quota` shows it. */
export interface LedgerPlace extends Place<KeyState>, Pick<Quota, 'shared' | 'stateServer'> {}

export interface LedgerOptions {
  /** In order of preference; the last one never fails. */
  readonly places: readonly LedgerPlace[];
  readonly clock: Clock;
  /** Called once for each place that fails. */
  readonly onWarning?: ((text: string) => void) | undefined;
}

/** All times in arguments and results are by this machine's clock. */
export class Ledger {
  readonly #options: LedgerOptions;
  readonly #log: FailoverLog<KeyState, LedgerPlace>;
  /** Events whose records are on their way to a server. */
  readonly #unwritten = new Map<Promise<void>, LedgerEvent>();
  /** The prefix of this ledger's ticket ids, which a number completes. */
  readonly #idPrefix = randomBytes(9).toString('base64url');
  #ids = 0;
  #isClosing = false;

  constructor(options: LedgerOptions) {
    const { places, clock, onWarning } = options;
    this.#options = options;
    this.#log = new FailoverLog({
      places,
      clock,
      noEffect: recordOf({ kind: 'unsent', id: '' }),
      onFailure: ({ stateServer }, warning) => {
        if (!this.#isClosing || stateServer === null) onWarning?.(warning);
      },
      onSwitch: (before, now) => this.#copyBlock(before, now),
    });
  }

  /**
   * Asks for a ticket, the right to send one request now; `observe` or `release` closes it.
   * @param timeoutMs the timeout of the request, which determines the lease
   * @throws PetstoreError `usage` or `storage` if the state server rejects the configuration
   */
  async acquire(timeoutMs: number): Promise<TicketResult> {
    this.#log.retry();
    let admission = this.#admit();
    if (!admission.granted) {
      await this.refresh();
      admission = this.#admit();
    }
    // A denied request leaves no record, so the log does not grow while processes wait.
    if (!admission.granted) return admission;
    const id = `${this.#idPrefix}${(this.#ids++).toString(36)}`;
    const leaseMs = timeoutMs + RULES.leaseMarginMs;
    await this.#log.append(recordOf({ kind: 'ticket', id, leaseMs }));
    if (ticketOf(this.#state, id)) return { granted: true, ticket: id };
    // The record of another process came first.
    admission = this.#admit();
    return admission.granted ? PENDING : admission;
  }

  /** The last check before the first byte: false after a 429 to another request, for an overdue ticket, or if the state is old. */
  isStillGranted(ticket: string): boolean {
    const state = this.#log.freshState();
    return state !== undefined && isStillGranted(this.#withUnwritten(state), ticket, this.#log.now);
  }

  observe(ticket: string, reading: RateLimitReading): void {
    const jitterDraw = Math.floor(this.#options.clock.random() * 1000);
    this.#record({ kind: 'response', id: ticket, reading, jitterDraw });
  }

  /** Closes a ticket without a response: `unsent` gives it back. */
  release(ticket: string, how: 'unsent' | 'lost'): void {
    this.#record({ kind: how, id: ticket });
  }

  quota(): Quota {
    this.#adjustToClock();
    const state = this.#withUnwritten(this.#log.freshState() ?? this.#log.cached());
    const { now, clockOffsetMs, place } = this.#log;
    return { ...quotaOf(state, now, clockOffsetMs), shared: place.shared, stateServer: place.stateServer };
  }

  /**
   * Brings `quota` up to date; the log then has this process's records.
   * @throws PetstoreError `usage` or `storage` if the state server rejects the configuration
   */
  async refresh(): Promise<void> {
    await Promise.all([this.#log.refresh(), ...this.#unwritten.keys()]);
  }

  /** Drops everything learned from responses, blocks included. Throws as `refresh` does. */
  async forget(): Promise<void> {
    await this.#log.append(recordOf({ kind: 'forget' }));
  }

  /** Writes the records that the log lacks, and a block to a server that is available again; warns of no later outage. */
  async close(): Promise<void> {
    this.#isClosing = true;
    await Promise.all(this.#unwritten.keys());
    if (activeBlock(this.#state, this.#log.now)) await this.#log.returnToServer();
    await Promise.all(this.#unwritten.keys());
    this.#log.close();
  }

  get #state(): KeyState {
    return this.#withUnwritten(this.#log.cached());
  }

  // Events count before the server has their records: a 429 among them voids tickets.
  #withUnwritten(state: KeyState): KeyState {
    if (this.#unwritten.size === 0) return state;
    const copy = { ...state };
    for (const event of this.#unwritten.values()) reduce(copy, event, this.#log.now);
    return copy;
  }

  // Writes to a file before this returns, and to a server in the background.
  #record(event: LedgerEvent): void {
    const writing = this.#log.append(recordOf(event));
    if (!(writing instanceof Promise)) return;
    const forgetEvent = (): void => void this.#unwritten.delete(written);
    // The next ticket request reports that the server rejects the configuration.
    const written: Promise<void> = writing.then(forgetEvent, forgetEvent);
    this.#unwritten.set(written, event);
  }

  #admit(): Admission {
    this.#adjustToClock();
    const { now, clockOffsetMs } = this.#log;
    const admission = admit(this.#state, now);
    return 'until' in admission ? { ...admission, until: admission.until - clockOffsetMs } : admission;
  }

  // Forgets records that are in the future because a clock was set back.
  #adjustToClock(): void {
    if (isAhead(this.#state, this.#log.now)) this.#record({ kind: 'clock' });
  }

  // Adds the rest of another log's block to the log in use, as a refusal that states this wait; `now` is the other log's time.
  #copyBlock({ block, time }: KeyState, now: number): void {
    // If the clock was set back, the time of the last record bounds the rest.
    const waitMs = (block?.until ?? 0) - Math.max(now, time);
    // Unwritten records do not count here, because the server may lose them.
    const knownMs = (this.#log.cached().block?.until ?? 0) - this.#log.now;
    if (!block || waitMs <= Math.max(0, knownMs)) return;
    const reading = { status: block.status, refused: true, waitMs, waitFrom: block.reason };
    this.#record({ kind: 'response', id: '', reading, jitterDraw: 0 });
  }
}
