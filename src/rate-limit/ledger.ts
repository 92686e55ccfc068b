// The ledger: many processes share one key as one polite client. It grants tickets, remembers replies and blocks.

import { FileLog } from '../append-log/file-log.ts';
import type { LogFs } from '../append-log/generations.ts';
import type { Log } from '../append-log/log.ts';
import { MemoryLog } from '../append-log/memory-log.ts';
import type { Clock } from '../clock.ts';
import type { Denied } from './admission.ts';
import { admit } from './admission.ts';
import { isAhead } from './clock-step.ts';
import type { LedgerRecord, Observation, TicketEnd } from './ledger-record.ts';
import { formatRecord } from './ledger-record.ts';
import type { LedgerState } from './ledger-state.ts';
import type { FileSystemType } from './paths.ts';
import { ledgerFolder, ledgerName } from './paths.ts';
import type { ProcessIdentity } from './process-identity.ts';
import { currentProcess } from './process-identity.ts';
import type { QuotaView } from './quota-view.ts';
import { quotaView } from './quota-view.ts';
import { ledgerFormat } from './reducer.ts';

/** An answer to "may one more request go?". */
export type TicketResult = { readonly granted: true; readonly ticket: string } | Denied;

/** The ledger of one key. No method throws: where nothing can be written it goes on in memory, with one warning. */
export interface Ledger {
  /** What its times refer to: this machine's clock, or that of the state server. */
  readonly clock: Clock;
  /**
   * Asks for a ticket: the right to send one request now. Whoever got one closes it by `observe` or `release`.
   * @param rest for one request of many, which leaves room for others who use the same key elsewhere: how many of them
   *   have no ticket yet, this one included; 0 where that is not known. Left out for a single request
   */
  acquire(rest?: number): TicketResult | Promise<TicketResult>;
  /**
   * The last look, just before the bytes go out.
   * @param ticket a ticket of `acquire`
   * @returns false where a sibling's 429 came meanwhile or the ticket ran out (a suspended machine): then nothing may be sent
   */
  confirm(ticket: string): boolean;
  /**
   * Notes what a reply said, and closes its ticket.
   * @param ticket the ticket it was sent with
   * @param observation what its head said
   */
  observe(ticket: string, observation: Omit<Observation, 'jitterDraw'>): void;
  /**
   * Closes a ticket without a reply.
   * @param ticket the ticket
   * @param how `unsent` gives it back; `lost` where the service may have seen the request
   */
  release(ticket: string, how: Exclude<TicketEnd, 'dead'>): void;
  /** @returns what is known now */
  view(): QuotaView;
  /** Brings `view` up to date, where that takes asking a server. */
  refresh(): void | Promise<void>;
  /** Drops what is remembered, blocks included. */
  forget(): void;
  /** Lets go of the file; what was known last can still be viewed. */
  close(): void | Promise<void>;
}

/** A ledger on this machine: every call returns at once. */
export interface LocalLedger extends Ledger {
  acquire(rest?: number): TicketResult;
  refresh(): void;
  close(): void;
}

/** What a ledger needs to know. */
export interface LedgerOptions {
  /** Undefined where there is no home folder to keep it in. */
  readonly stateDir: string | undefined;
  readonly tempDir: string;
  /** What the quota belongs to besides the key: the base URL, or the sandbox's data. */
  readonly identity: string;
  readonly key: string;
  readonly clock: Clock;
  /** The longest that one try may take, milliseconds: a ticket counts a little longer. */
  readonly timeoutMs: number;
  /** Called once, where nothing can be written. */
  readonly onWarning?: ((text: string) => void) | undefined;
  /** Tests hand in their own. */
  readonly owner?: ProcessIdentity;
  readonly typeOf?: FileSystemType;
  readonly fs?: LogFs;
}

/** Names the format: records and rules that processes of different versions must not share. */
export const LEDGER_VERSION = 'ledger-3';
const ROTATE_AT_BYTES = 48 * 1024;
/** How much longer than a request's timeout its ticket counts, milliseconds. */
export const LEASE_MARGIN_MS = 2000;
const DEAD_CHECK_INTERVAL_MS = 50;

/**
 * Opens the ledger of a key.
 * @param options whose it is and where it lies
 * @returns the ledger; in memory, with one warning, where no file can be written
 */
export function openLedger(options: LedgerOptions): LocalLedger {
  return new LoggedLedger(options);
}

class LoggedLedger implements LocalLedger {
  readonly clock: Clock;
  readonly #options: LedgerOptions;
  readonly #owner: ProcessIdentity;
  readonly #stamp: string;
  #counter = 0;
  #log: Log<LedgerState>;
  #shared = true;
  #lookedForDead = Number.NEGATIVE_INFINITY;

  constructor(options: LedgerOptions) {
    this.#options = options;
    this.clock = options.clock;
    this.#owner = options.owner ?? currentProcess();
    this.#stamp = `${this.#owner.pid.toString(36)}x${Math.floor(options.clock.random() * 36 ** 6).toString(36)}x`;
    try {
      if (options.stateDir === undefined) throw new Error('there is no home folder');
      const name = ledgerName(options.identity, options.key);
      const dir = ledgerFolder(options.stateDir, options.tempDir, name, options.typeOf);
      this.#log = new FileLog(ledgerFormat, {
        dir,
        name: LEDGER_VERSION,
        rotateAtBytes: ROTATE_AT_BYTES,
        ...(options.fs && { fs: options.fs }),
      });
    } catch (error) {
      this.#log = this.#inMemory(error);
    }
  }

  acquire(rest?: number): TicketResult {
    const state = this.#refresh();
    const seen = admit(state, this.#now(state), rest);
    if (!seen.granted) {
      this.#releaseDeadTickets(state);
      return seen;
    }
    const { clock, timeoutMs } = this.#options;
    const ticket = this.#stamp + (this.#counter++).toString(36);
    const { pid, start, host } = this.#owner;
    const at = Math.round(clock.now());
    const after = this.#append({
      kind: 'ticket',
      at,
      id: ticket,
      pid,
      start,
      host,
      leaseMs: timeoutMs + LEASE_MARGIN_MS,
      rest,
    });
    if (after.tickets.has(ticket)) return { granted: true, ticket };
    // Somebody was quicker by a record: the state after both says when to ask again.
    const now = this.#now(after);
    const next = admit(after, now, rest);
    return next.granted ? { granted: false, reason: 'sibling' } : next;
  }

  confirm(ticket: string): boolean {
    const state = this.#refresh();
    const held = state.tickets.get(ticket);
    const now = this.#now(state);
    return held !== undefined && now <= held.expires && !(state.block && now < state.block.until);
  }

  observe(ticket: string, observation: Omit<Observation, 'jitterDraw'>): void {
    const jitterDraw = Math.floor(this.#options.clock.random() * 1000);
    this.#append({ kind: 'reply', at: observation.at, id: ticket, observation: { ...observation, jitterDraw } });
  }

  release(ticket: string, how: Exclude<TicketEnd, 'dead'>): void {
    this.#append({ kind: 'closed', at: Math.round(this.#options.clock.now()), id: ticket, how });
  }

  view(): QuotaView {
    return quotaView(this.#refresh(), this.#options.clock.now(), this.#shared);
  }

  refresh(): void {}

  forget(): void {
    this.#append({ kind: 'forget', at: Math.round(this.#options.clock.now()) });
  }

  close(): void {
    const log = this.#log;
    this.#log = remembering(log.last());
    log.close();
  }

  #now(state: LedgerState): number {
    return Math.max(this.#options.clock.now(), state.time);
  }

  #refresh(): LedgerState {
    const state = this.#guarded((log) => log.refresh());
    const now = Math.round(this.#options.clock.now());
    return isAhead(state, now) ? this.#append({ kind: 'clock', at: now }) : state;
  }

  #append(record: LedgerRecord): LedgerState {
    return this.#guarded((log) => {
      log.append(formatRecord(record));
      return log.last();
    });
  }

  // A ticket of a process that ended is closed by a record, so that everybody folds the same.
  #releaseDeadTickets(state: LedgerState): void {
    const { clock } = this.#options;
    if (clock.monotonic() - this.#lookedForDead < DEAD_CHECK_INTERVAL_MS) return;
    this.#lookedForDead = clock.monotonic();
    const { pid: mine, host } = this.#owner;
    const dead = [...state.tickets].filter(
      ([, held]) => held.host === host && held.pid !== mine && this.#owner.ended(held.pid, held.start),
    );
    for (const [id] of dead) this.#append({ kind: 'closed', at: Math.round(clock.now()), id, how: 'dead' });
  }

  #guarded(work: (log: Log<LedgerState>) => LedgerState): LedgerState {
    try {
      return work(this.#log);
    } catch (error) {
      if (this.#log instanceof MemoryLog) throw error;
      this.#log = this.#inMemory(error, this.#log.last());
      return work(this.#log);
    }
  }

  #inMemory(error: unknown, known?: LedgerState): Log<LedgerState> {
    this.#shared = false;
    const code = (error as NodeJS.ErrnoException).code;
    const why = typeof code === 'string' ? code : error instanceof Error ? error.message : 'unknown';
    const where = this.#options.stateDir === undefined ? '' : ` nothing can be written to ${this.#options.stateDir}`;
    const text = `the rate limit cannot be shared with other processes:${where} (${why})`;
    this.#options.onWarning?.(text);
    return remembering(known);
  }
}

// What was known goes along: a full disk must not make a process forget that it is blocked.
function remembering(known: LedgerState | undefined): Log<LedgerState> {
  const memory = new MemoryLog(ledgerFormat);
  if (known) for (const record of ledgerFormat.snapshot(known)) memory.append(record);
  return memory;
}
