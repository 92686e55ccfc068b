// The ledger: many processes share one key as one polite client. It grants tickets, remembers responses and blocks.
import { createHash, randomBytes } from 'node:crypto';
import { FileLog } from '../append-log/file-log.ts';
import type { LogFs } from '../append-log/generations.ts';
import { MemoryLog } from '../append-log/log.ts';
import type { ProcessRef } from '../append-log/process-liveness.ts';
import { currentProcess, isAlive } from '../append-log/process-liveness.ts';
import type { Clock } from '../clock.ts';
import type { LedgerRecord, Observation, TicketEnd } from './ledger-record.ts';
import { formatRecord } from './ledger-record.ts';
import type { FileSystemType } from './paths.ts';
import { ledgerFolder, ledgerName } from './paths.ts';
import type { Admission, Denied, KeyState as LedgerState } from './policy.ts';
import { admit, confirm, isAhead } from './policy.ts';
import type { QuotaView } from './quota-view.ts';
import { quotaView } from './quota-view.ts';
import { ledgerFormat } from './reducer.ts';
import { LEDGER_VERSION } from './rules.ts';

export type TicketResult = { readonly granted: true; readonly ticket: string } | Denied;

/** The ledger of one key. Where it cannot be shared, it continues in memory with one warning. */
export interface Ledger {
  /** What its times refer to: this machine's clock, or that of the state server. */
  readonly clock: Clock;
  /**
   * Asks for a ticket, the right to send one request now; `observe` or `release` closes it.
   */
  acquire(): TicketResult | Promise<TicketResult>;
  /** The last look before the bytes are sent; false after a 429 to another request, or where the ticket expired (a suspended machine). */
  confirm(ticket: string): boolean;
  observe(ticket: string, seen: Observation): void;
  /** Closes a ticket without a response: `unsent` gives it back, `lost` where the service may have seen the request. */
  release(ticket: string, how: Exclude<TicketEnd, 'dead'>): void;
  view(): QuotaView;
  /** Brings `view` up to date, where that takes asking a server. */
  refresh(): void | Promise<void>;
  /** Drops everything learned from responses, blocks included. */
  forget(): void;
  /** Closes the file; what was known last can still be viewed. */
  close(): void | Promise<void>;
}

/** A ledger on this machine: every call returns at once and none throws. */
export interface LocalLedger extends Ledger {
  acquire(): TicketResult;
  refresh(): void;
  close(): void;
}

export interface LedgerOptions {
  /** Undefined where there is no home directory to keep it in. */
  readonly stateDir: string | undefined;
  readonly tempDir: string;
  /** What the quota belongs to besides the key: the base URL, or the sandbox's data. */
  readonly identity: string;
  readonly key: string;
  readonly clock: Clock;
  /** The time limit of one attempt, milliseconds; a ticket counts a little longer. */
  readonly timeoutMs: number;
  /** Called once, where the ledger cannot be shared. */
  readonly onWarning?: ((text: string) => void) | undefined;
  readonly self?: ProcessRef;
  readonly livenessOf?: typeof isAlive;
  readonly typeOf?: FileSystemType;
  readonly fs?: LogFs;
}

// Every process reads the whole file at its start.
const ROTATE_AT_BYTES = 32 * 1024;
/** How much longer than a request's timeout its ticket counts, milliseconds. */
export const LEASE_MARGIN_MS = 2000;
const DEAD_CHECK_INTERVAL_MS = 50;

type OwnLog = FileLog<LedgerState, Admission | undefined> | MemoryLog<LedgerState, Admission | undefined>;

export function openLedger(options: LedgerOptions): LocalLedger {
  return new LoggedLedger(options);
}

class LoggedLedger implements LocalLedger {
  readonly clock: Clock;
  readonly #options: LedgerOptions;
  readonly #self: ProcessRef;
  // A short name for the host: its own, the pid namespace's and the boot's.
  readonly #host: string;
  readonly #stamp = randomBytes(10).toString('base64url');
  #counter = 0;
  #log: OwnLog;
  #shared = true;
  #deadCheckedAt = Number.NEGATIVE_INFINITY;

  constructor(options: LedgerOptions) {
    this.#options = options;
    this.clock = options.clock;
    this.#self = options.self ?? currentProcess();
    this.#host = createHash('sha256').update(this.#self.host).digest('base64url').slice(0, 10);
    try {
      if (options.stateDir === undefined) throw new Error('there is no home directory');
      const dir = ledgerFolder(
        options.stateDir,
        options.tempDir,
        ledgerName(options.identity, options.key),
        options.typeOf,
      );
      const name = `ledger-${LEDGER_VERSION}`;
      this.#log = new FileLog(ledgerFormat, { dir, name, rotateAtBytes: ROTATE_AT_BYTES, fs: options.fs });
    } catch (error) {
      this.#log = this.#inMemory(error);
    }
  }

  acquire(): TicketResult {
    const state = this.#refresh();
    const now = this.#now();
    // Denied requests leave no record, so the log does not grow while they wait.
    const seen = admit(state, Math.max(now, state.time));
    if (!seen.granted) {
      this.#releaseDeadTickets(state);
      return seen;
    }
    const ticket = `${this.#stamp}${(this.#counter++).toString(36)}`;
    const { pid, start } = this.#self;
    const leaseMs = this.#options.timeoutMs + LEASE_MARGIN_MS;
    const record = { kind: 'ticket', at: now, id: ticket, pid, start, host: this.#host, leaseMs } as const;
    const admission = this.#append(record);
    // Undefined only where the ticket's own record came to nothing: asked again at once.
    return admission?.granted ? { granted: true, ticket } : (admission ?? { granted: false, reason: 'pending' });
  }

  confirm(ticket: string): boolean {
    const state = this.#refresh();
    return confirm(state, ticket, Math.max(this.#now(), state.time));
  }

  observe(ticket: string, seen: Observation): void {
    const jitterDraw = Math.floor(this.clock.random() * 1000);
    this.#append({ kind: 'response', at: seen.at, id: ticket, seen, jitterDraw });
  }

  release(ticket: string, how: Exclude<TicketEnd, 'dead'>): void {
    this.#append({ kind: 'closed', at: this.#now(), id: ticket, how });
  }

  view(): QuotaView {
    return quotaView(this.#refresh(), this.clock.now(), this.#shared);
  }

  refresh(): void {}

  forget(): void {
    this.#append({ kind: 'forget', at: this.#now() });
  }

  close(): void {
    const log = this.#log;
    this.#log = inMemory(log.last());
    log.close();
  }

  #now(): number {
    return Math.round(this.clock.now());
  }

  #refresh(): LedgerState {
    const state = this.#withLog((log) => log.refresh());
    const now = this.#now();
    if (!isAhead(state, now)) return state;
    this.#append({ kind: 'clock', at: now });
    return this.#log.last();
  }

  #append(record: LedgerRecord): Admission | undefined {
    return this.#withLog((log) => log.append(formatRecord(record)));
  }

  // The ticket of a process that ended is closed by a record, so that all processes see the same.
  #releaseDeadTickets(state: LedgerState): void {
    const { clock, livenessOf = isAlive } = this.#options;
    if (clock.monotonic() - this.#deadCheckedAt < DEAD_CHECK_INTERVAL_MS) return;
    this.#deadCheckedAt = clock.monotonic();
    const { host, pid: ownPid } = this.#self;
    for (const [id, { pid, start, host: at }] of Object.entries(state.tickets)) {
      if (at !== this.#host || pid === ownPid || livenessOf({ pid, start, host }) !== 'dead') continue;
      this.#append({ kind: 'closed', at: this.#now(), id, how: 'dead' });
    }
  }

  #withLog<T>(use: (log: OwnLog) => T): T {
    try {
      return use(this.#log);
    } catch (error) {
      if (this.#log instanceof MemoryLog) throw error;
      this.#log = this.#inMemory(error, this.#log.last());
      return use(this.#log);
    }
  }

  #inMemory(error: unknown, known?: LedgerState): OwnLog {
    this.#shared = false;
    const { code, message } = error as NodeJS.ErrnoException;
    const { stateDir, onWarning } = this.#options;
    const where = stateDir === undefined ? '' : ` nothing can be written to ${stateDir}`;
    onWarning?.(`the rate limit cannot be shared with other processes:${where} (${code ?? message})`);
    return inMemory(known);
  }
}

// Keeps what was known: a full disk must not make a process forget that it is blocked.
function inMemory(known: LedgerState | undefined): OwnLog {
  const memory = new MemoryLog(ledgerFormat);
  if (known) for (const record of ledgerFormat.snapshot(known)) memory.append(record);
  return memory;
}
