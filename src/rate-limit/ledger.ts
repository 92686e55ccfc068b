// The ledger (docs/rate-limits.md): grants tickets and records responses in a log in a file, in memory, or on a state
// server, so that all processes with one key share its rate limit.
import { createHash, randomBytes } from 'node:crypto';
import { FileLog } from '../append-log/file-log.ts';
import type { LogFs } from '../append-log/generations.ts';
import type { Log } from '../append-log/log.ts';
import { MemoryLog } from '../append-log/log.ts';
import type { ProcessRef } from '../append-log/process-liveness.ts';
import { currentProcess, livenessOf } from '../append-log/process-liveness.ts';
import type { Clock } from '../clock.ts';
import { systemReason } from '../system-error.ts';
import type { LedgerRecord, Observation, TicketEnd } from './ledger-record.ts';
import { formatRecord, stamped } from './ledger-record.ts';
import type { FileSystemType } from './paths.ts';
import { ledgerDirectory, ledgerName } from './paths.ts';
import type { Admission, Denied, KeyState } from './policy.ts';
import { admit, confirm, isAhead, reduce, shiftTimes } from './policy.ts';
import type { QuotaView } from './quota-view.ts';
import { quotaView } from './quota-view.ts';
import { ledgerFormat } from './reducer.ts';
import { LEDGER_VERSION } from './rules.ts';
import type { ServerClock } from './server-clock.ts';

export type TicketResult = { readonly granted: true; readonly ticket: string } | Denied;

/** The ledger of one key. Its times are those of this machine's clock. */
export interface Ledger {
  /**
   * Asks for a ticket, the right to send one request now; `observe` or `release` closes it.
   * @param timeoutMs the timeout of the request, which determines the lease
   */
  acquire(timeoutMs: number): Promise<TicketResult>;
  /** The last check before the first byte: false after a 429 to another request, or once the ticket has expired. */
  confirm(ticket: string): boolean;
  observe(ticket: string, seen: Observation): void;
  /** Closes a ticket without a response: `unsent` gives it back, `lost` if the service may have seen the request. */
  release(ticket: string, how: Exclude<TicketEnd, 'dead'>): void;
  view(): QuotaView;
  /** Brings `view` up to date. */
  refresh(): Promise<void>;
  /** Drops everything learned from responses, blocks included. */
  forget(): Promise<void>;
  /** Writes pending records; `view` still works afterwards. */
  close(): Promise<void>;
}

export interface LogLedgerOptions {
  readonly log: Log<KeyState>;
  readonly clock: Clock;
  /** The clock of the log's records; undefined for this machine's own. */
  readonly serverClock?: ServerClock;
  /** Called once, with the error of the file, before the ledger continues in memory. */
  readonly onUnshared?: (error: unknown) => void;
  readonly self?: ProcessRef;
  readonly livenessOf?: typeof livenessOf;
}

/** Time that a ticket outlives its request's timeout, in milliseconds. */
const LEASE_MARGIN_MS = 2000;
const PENDING: TicketResult = { granted: false, reason: 'pending' };

export class LogLedger implements Ledger {
  readonly #options: LogLedgerOptions;
  readonly #stamp = randomBytes(10).toString('base64url');
  readonly #self: ProcessRef;
  // A hash of host name, pid namespace and boot id, written into each ticket.
  readonly #host: string;
  // Records on their way to a server.
  readonly #pending = new Map<Promise<unknown>, LedgerRecord>();
  // Records that a server did not receive.
  readonly #unwritten: LedgerRecord[] = [];
  #counter = 0;
  #log: Log<KeyState>;
  #shared: boolean;

  constructor(options: LogLedgerOptions) {
    this.#options = options;
    this.#log = options.log;
    this.#shared = !(options.log instanceof MemoryLog);
    this.#self = options.self ?? currentProcess();
    this.#host = createHash('sha256').update(this.#self.host).digest('base64url').slice(0, 10);
  }

  /** Rejects only if the log is on a state server, with StateServerError. */
  async acquire(timeoutMs: number): Promise<TicketResult> {
    const known = await this.#afterClockStep(this.#withLog((log) => log.recent() ?? log.last()));
    // Denied requests leave no record, so the log does not grow while they wait.
    if (!this.#admit(known).granted) {
      const state = await this.#afterClockStep(await this.#withLog((log) => log.refresh()));
      const admission = this.#admit(state);
      if (!admission.granted) {
        this.#closeDeadTickets(state);
        return admission;
      }
    }
    const { pid, start } = this.#self;
    const id = `${this.#stamp}${(this.#counter++).toString(36)}`;
    const leaseMs = timeoutMs + LEASE_MARGIN_MS;
    try {
      await this.#append({ kind: 'ticket', at: this.#now(), id, pid, start, host: this.#host, leaseMs });
    } catch (error) {
      // The ticket may have been granted although the reply was lost.
      this.#unwritten.push({ kind: 'closed', at: this.#now(), id, how: 'unsent' });
      throw error;
    }
    this.resend();
    const state = this.#log.last();
    if (id in state.tickets) return { granted: true, ticket: id };
    const admission = this.#admit(state);
    return admission.granted ? PENDING : admission;
  }

  confirm(ticket: string): boolean {
    const state = this.#withLog((log) => log.recent());
    // A refusal or block not yet written to the log voids earlier tickets.
    const refused = [...this.#pending.values()].some(
      (one) => one.kind === 'block' || (one.kind === 'response' && one.seen.refused),
    );
    return state !== undefined && !refused && confirm(state, ticket, Math.max(this.#now(), state.time));
  }

  observe(ticket: string, seen: Observation): void {
    // Move the earlier records back first; later, this one would be moved with them.
    if (isAhead(this.#log.last(), this.#now())) this.#write({ kind: 'clock', at: this.#now() });
    const shifted = this.#toLog(seen);
    const jitterDraw = Math.floor(this.#options.clock.random() * 1000);
    this.#write({ kind: 'response', at: shifted.at, id: ticket, seen: shifted, jitterDraw });
  }

  release(ticket: string, how: Exclude<TicketEnd, 'dead'>): void {
    this.#write({ kind: 'closed', at: this.#now(), id: ticket, how });
  }

  view(): QuotaView {
    const state = this.#withLog((log) => log.recent() ?? log.last());
    const { serverClock, clock } = this.#options;
    if (!serverClock) return quotaView(state, clock.now(), this.#shared);
    const latest = shiftTimes(state, 0);
    for (const record of this.#pending.values()) reduce(latest, stamped(record, this.#now()));
    return quotaView(shiftTimes(latest, -this.#ahead), clock.now(), this.#shared);
  }

  async refresh(): Promise<void> {
    // The reply to a pending record contains the latest state.
    if (this.#pending.size > 0) await Promise.all(this.#pending.keys());
    else await this.#afterClockStep(await this.#withLog((log) => log.refresh()));
  }

  async forget(): Promise<void> {
    await this.#append({ kind: 'forget', at: this.#now() });
  }

  /** Takes over a block from another ledger of the same key, or from this one before it lost records. */
  inherit({ until, reason }: Pick<NonNullable<QuotaView['blocked']>, 'until' | 'reason'>): void {
    this.#write({ kind: 'block', at: this.#now(), until: Math.round(until + this.#ahead), reason });
  }

  /** Writes the records that a server did not receive. */
  resend(): void {
    for (const record of this.#unwritten.splice(0)) this.#write(record);
  }

  async close(): Promise<void> {
    await Promise.all(this.#pending.keys());
    const log = this.#log;
    this.#log = new MemoryLog(ledgerFormat, ledgerFormat.snapshot(log.last()));
    log.close();
  }

  get #ahead(): number {
    return this.#options.serverClock?.ahead ?? 0;
  }

  // The time by the clock of the log's records.
  #now(): number {
    return Math.round(this.#options.clock.now() + this.#ahead);
  }

  #admit(state: KeyState): Admission {
    const admission = admit(state, Math.max(this.#now(), state.time));
    return 'until' in admission ? { ...admission, until: admission.until - this.#ahead } : admission;
  }

  #toLog(seen: Observation): Observation {
    const { serverClock } = this.#options;
    if (!serverClock) return seen;
    const { ahead, aheadOnArrival, errorMs } = serverClock;
    const { at, reset, offset } = seen;
    return {
      ...seen,
      at: Math.round(at + aheadOnArrival),
      reset: reset?.clock === 'local' ? { ...reset, at: reset.at + ahead } : reset,
      offset: offset && { lo: offset.lo - ahead - errorMs, hi: offset.hi - ahead + errorMs },
    };
  }

  async #afterClockStep(state: KeyState): Promise<KeyState> {
    if (!isAhead(state, this.#now())) return state;
    await this.#append({ kind: 'clock', at: this.#now() });
    return this.#log.last();
  }

  // Writes to a file at once; a server receives the record in the background or, after a failure, with the next ticket.
  #write(record: LedgerRecord): void {
    const writing: Promise<unknown> = this.#append(record).catch(() => this.#unwritten.push(record));
    this.#pending.set(writing, record);
    void writing.then(() => this.#pending.delete(writing));
  }

  async #append(record: LedgerRecord): Promise<void> {
    await this.#withLog((log) => log.append(formatRecord(record)));
  }

  // Closes the tickets of dead processes of this host; those of other hosts expire.
  #closeDeadTickets({ tickets }: KeyState): void {
    const judge = this.#options.livenessOf ?? livenessOf;
    for (const [id, { pid, start, host }] of Object.entries(tickets)) {
      if (host !== this.#host || judge({ pid, start, host: this.#self.host }) !== 'dead') continue;
      this.#write({ kind: 'closed', at: this.#now(), id, how: 'dead' });
    }
  }

  // Continues in memory with the last state, so that a full disk does not end a block.
  #withLog<T>(use: (log: Log<KeyState>) => T): T {
    try {
      return use(this.#log);
    } catch (error) {
      if (this.#log instanceof MemoryLog) throw error;
      this.#options.onUnshared?.(error);
      this.#shared = false;
      this.#log = new MemoryLog(ledgerFormat, ledgerFormat.snapshot(this.#log.last()));
      return use(this.#log);
    }
  }
}

export interface LedgerOptions extends Pick<LogLedgerOptions, 'clock' | 'self' | 'livenessOf'> {
  /** Undefined if there is no home directory. */
  readonly stateDir: string | undefined;
  readonly tempDir: string;
  /** The base URL, or the sandbox's data: with the key it names the ledger. */
  readonly identity: string;
  readonly key: string;
  /** Called once, if the ledger cannot be shared. */
  readonly onWarning?: ((text: string) => void) | undefined;
  readonly typeOf?: FileSystemType;
  readonly fs?: LogFs;
}

// Keeps the file small, because every process reads it whole at start.
const ROTATE_AT_BYTES = 32 * 1024;

/** Opens this machine's ledger of a key: in a file or, if none can be written, in memory with one warning. Never throws. */
export function openLedger(options: LedgerOptions): LogLedger {
  const { stateDir, tempDir, identity, key, onWarning, typeOf, fs, ...own } = options;
  const onUnshared = (error: unknown): void => {
    const problem =
      stateDir === undefined
        ? 'cannot determine the home directory'
        : `cannot write to ${stateDir} (${systemReason(error)})`;
    onWarning?.(`${problem}; the rate limit is not shared with other processes`);
  };
  let log: Log<KeyState>;
  try {
    if (stateDir === undefined) throw new Error('there is no home directory');
    const dir = ledgerDirectory(stateDir, tempDir, ledgerName(identity, key), typeOf);
    log = new FileLog(ledgerFormat, { dir, name: `ledger-${LEDGER_VERSION}`, rotateAtBytes: ROTATE_AT_BYTES, fs });
  } catch (error) {
    onUnshared(error);
    log = new MemoryLog(ledgerFormat);
  }
  return new LogLedger({ ...own, log, onUnshared });
}
