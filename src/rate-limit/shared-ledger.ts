// The ledger of several machines: the same records and reducer over a log on a state server, with its time as the clock.
//
// While the server is away, each machine continues with its own ledger; docs/fleet.md describes when.
import { randomBytes } from 'node:crypto';
import type { StateServer } from '../append-log/state-server.ts';
import { StreamLog } from '../append-log/stream-log.ts';
import { StateServerError } from '../append-log/valkey-connection.ts';
import type { Clock } from '../clock.ts';
import type { Ledger, TicketResult } from './ledger.ts';
import { LEASE_MARGIN_MS } from './ledger.ts';
import type { LedgerRecord, Observation, TicketEnd } from './ledger-record.ts';
import { formatRecord, parseRecord } from './ledger-record.ts';
import { ledgerName } from './paths.ts';
import type { KeyState as LedgerState } from './policy.ts';
import { admit, confirm, isAhead } from './policy.ts';
import type { QuotaView } from './quota-view.ts';
import { quotaView } from './quota-view.ts';
import { ledgerFormat } from './reducer.ts';
import { LEDGER_VERSION } from './rules.ts';
import { ServerClock } from './server-clock.ts';

export interface SharedLedgerOptions {
  readonly server: StateServer;
  readonly identity: string;
  readonly key: string;
  readonly clock: Clock;
  readonly timeoutMs: number;
  /** Opens this machine's own ledger, for as long as the server is away. */
  readonly openLocal: () => Ledger;
  readonly onWarning?: ((text: string) => void) | undefined;
}

type Seen = Observation;

const ROTATE_AT = 200;
const KEEP_MS = 48 * 3_600_000;
const RECONNECT_EVERY_MS = 1000;
// A process with requests in flight announces itself this often; one that was silent for the lease is taken for dead.
const BEAT_MS = 1000;
const PRESENCE_MS = 6000;
// Older knowledge may lack a 429 that another machine received.
const STALE_MS = 1500;
const UNSAVED_KEPT = 1000;
const ENDINGS_KEPT = 200;

/** A ledger on a state server. `acquire` throws PetstoreError `usage` where the server turns the configuration away. */
export class SharedLedger implements Ledger {
  readonly clock: ServerClock;
  readonly #options: SharedLedgerOptions;
  readonly #log: StreamLog<LedgerState>;
  readonly #id = randomBytes(10).toString('hex');
  readonly #held = new Set<string>();
  readonly #pending = new Set<Promise<unknown>>();
  readonly #closed = new AbortController();
  // Records that could not be written while the server was away, and the latest ones in case a failover loses them.
  readonly #unsaved: LedgerRecord[] = [];
  readonly #endings = new Map<string, LedgerRecord>();
  #counter = 0;
  #local: Ledger | undefined;
  #warned = false;
  #beating = false;
  #reconnectAt = 0;
  #lookedForDead = Number.NEGATIVE_INFINITY;

  constructor(options: SharedLedgerOptions) {
    const { server, identity, key, clock } = options;
    this.#options = options;
    this.clock = new ServerClock(clock);
    this.#log = new StreamLog(ledgerFormat, {
      server,
      key: `petstore:{${ledgerName(identity, key)}}:ledger-${LEDGER_VERSION}`,
      ttlMs: KEEP_MS,
      rotateAt: ROTATE_AT,
      stamp,
      clock,
      recentMs: STALE_MS,
      holder: { id: this.#id, leaseMs: PRESENCE_MS },
      ...(options.onWarning && { onWarning: options.onWarning }),
      onTime: (serverMs, sentAt, receivedAt) => this.clock.sample(serverMs, sentAt, receivedAt),
      onReset: () => this.#restoreEndings(),
    });
  }

  async acquire(): Promise<TicketResult> {
    if (this.clock.away) this.#reconnectInBackground();
    if (this.clock.away) return this.#own().acquire();
    try {
      return await this.#request();
    } catch (error) {
      this.#leave(error);
      return this.#own().acquire();
    }
  }

  confirm(ticket: string): boolean {
    if (!this.#held.has(ticket)) return this.#own().confirm(ticket);
    if (!this.#log.recent()) return false;
    const state = this.#log.last();
    return confirm(state, ticket, this.#now(state));
  }

  observe(ticket: string, seen: Seen): void {
    const { away, ahead, errorMs } = this.clock;
    if (!this.#held.delete(ticket)) {
      this.#own().observe(ticket, away ? seen : shifted(seen, -ahead));
      // What a 429 says concerns the others too.
      if (away && seen.refused) this.#reconnectInBackground(true);
      return;
    }
    const { at, offset, ...rest } = away ? shifted(seen, ahead) : seen;
    const bounds = offset && { lo: offset.lo - errorMs, hi: offset.hi + errorMs };
    const jitterDraw = Math.floor(this.clock.random() * 1000);
    this.#write({ kind: 'response', at, id: ticket, seen: { ...rest, at, offset: bounds }, jitterDraw });
  }

  release(ticket: string, how: Exclude<TicketEnd, 'dead'>): void {
    if (this.#held.delete(ticket)) this.#write(this.#ended(ticket, how));
    else this.#own().release(ticket, how);
  }

  view(): QuotaView {
    if (this.clock.away) return this.#own().view();
    return { ...quotaView(this.#log.last(), this.clock.now(), true), stateServer: this.#options.server.name };
  }

  async refresh(): Promise<void> {
    try {
      // The reply to a record that is on its way brings what is new.
      if (this.#pending.size > 0) await Promise.all(this.#pending);
      else if (!this.clock.away) await this.#log.refresh();
    } catch (error) {
      this.#leave(error);
    }
  }

  forget(): void {
    this.#write({ kind: 'forget', at: this.clock.server() });
    if (this.clock.away) this.#own().forget();
  }

  // A connection that is closed with a reply unread is reset, and the last record could be lost with it.
  async close(): Promise<void> {
    await Promise.allSettled(this.#pending);
    if (this.#unsaved.length > 0 && this.#log.last().seq > 0) await this.#reconnect();
    await Promise.allSettled(this.#pending);
    this.#closed.abort();
    this.#options.server.close();
    await this.#local?.close();
  }

  async #request(): Promise<TicketResult> {
    // A grant is tried at once on what is known; a refusal is only believed after a look.
    if (!this.#admit(this.#log.last()).granted) {
      const state = await this.#log.refresh();
      if (isAhead(state, this.clock.server())) await this.#append({ kind: 'clock', at: this.clock.server() });
      const admission = this.#admit(this.#log.last());
      if (!admission.granted) {
        if (admission.reason === 'pending') this.#releaseDeadTickets(state);
        return admission;
      }
    }
    const id = `${this.#id}x${(this.#counter++).toString(36)}`;
    const leaseMs = this.#options.timeoutMs + LEASE_MARGIN_MS;
    const at = this.clock.server();
    const owner = { pid: process.pid, start: '', host: this.#id };
    const after = await this.#append({ kind: 'ticket', at, id, ...owner, leaseMs }).catch((error: unknown) => {
      // It may have been granted although no reply came.
      this.#unsaved.push(this.#ended(id, 'unsent'));
      throw error;
    });
    if (id in after.tickets) {
      this.#held.add(id);
      void this.#beat();
      return { granted: true, ticket: id };
    }
    const next = this.#admit(after);
    return next.granted ? { granted: false, reason: 'pending' } : next;
  }

  #admit(state: LedgerState) {
    return admit(state, this.#now(state));
  }

  #now(state: LedgerState): number {
    return Math.max(this.clock.now(), state.time);
  }

  #ended(id: string, how: TicketEnd): LedgerRecord {
    return { kind: 'closed', at: this.clock.server(), id, how };
  }

  async #append(record: LedgerRecord): Promise<LedgerState> {
    await this.#log.append(formatRecord(record));
    return this.#log.last();
  }

  // Written in the background; `close` and `refresh` wait for it.
  #write(record: LedgerRecord): void {
    if ('id' in record) this.#endings.set(record.id, record);
    const [oldest] = this.#endings.keys();
    if (oldest !== undefined && this.#endings.size > ENDINGS_KEPT) this.#endings.delete(oldest);
    const written = this.clock.away ? Promise.reject() : this.#append(record);
    const writing = written.catch(() => {
      if (this.#unsaved.length < UNSAVED_KEPT) this.#unsaved.push(record);
    });
    this.#pending.add(writing);
    void writing.then(() => this.#pending.delete(writing));
  }

  // A state that was read again from the head may lack what this process wrote last.
  #restoreEndings(): void {
    const { tickets, block } = this.#log.last();
    for (const [id, record] of this.#endings) {
      const blocks = record.kind === 'response' && record.seen.refused && !block;
      const lost = blocks && record.at + (record.seen.waitMs ?? 0) > this.clock.server();
      if (id in tickets || lost) this.#write(record);
    }
  }

  async #beat(): Promise<void> {
    if (this.#beating) return;
    this.#beating = true;
    try {
      while (this.#held.size > 0) {
        await this.clock.sleep(BEAT_MS, this.#closed.signal);
        if (this.#held.size > 0) await this.#log.refresh();
      }
    } catch {
      // Closed, or the server is away: the next ticket starts it again.
    } finally {
      this.#beating = false;
    }
  }

  #releaseDeadTickets(state: LedgerState): void {
    const now = this.clock.monotonic();
    if (now - this.#lookedForDead < BEAT_MS) return;
    this.#lookedForDead = now;
    const old = Object.entries(state.tickets).filter(([, { host }]) => host !== this.#id);
    if (old.length === 0) return;
    const release = this.#log.absent([...new Set(old.map(([, { host }]) => host))]).then((absent) => {
      for (const [id, { host }] of old) if (absent.includes(host)) this.#write(this.#ended(id, 'dead'));
    });
    // The tickets expire by themselves where this fails.
    release.catch(() => undefined);
  }

  #own(): Ledger {
    this.#local ??= this.#options.openLocal();
    return this.#local;
  }

  // From here on this machine goes by its own clock and ledger, which inherits a block.
  #leave(error: unknown): void {
    if (!(error instanceof StateServerError)) throw error;
    const { server, onWarning } = this.#options;
    if (error.problem !== 'unavailable') throw server.toPetstoreError(error);
    if (this.clock.away) return;
    const { block } = this.#log.last();
    const left = (block?.until ?? 0) - this.clock.now();
    this.clock.away = true;
    this.#reconnectAt = this.clock.monotonic() + RECONNECT_EVERY_MS;
    if (block && left > 0) this.#own().observe('inherited', refusal(this.clock.now(), left));
    if (this.#warned) return;
    this.#warned = true;
    onWarning?.(
      `the state server at ${server.name} cannot be used (${error.message}); sharing the rate limit on this machine only`,
    );
  }

  #reconnectInBackground(atOnce = false): void {
    const reconnecting = this.#reconnectAt === Number.POSITIVE_INFINITY;
    if (reconnecting || (!atOnce && this.clock.monotonic() < this.#reconnectAt)) return;
    this.#reconnectAt = Number.POSITIVE_INFINITY;
    void this.#reconnect();
  }

  async #reconnect(): Promise<void> {
    try {
      await this.#log.refresh();
      const { blocked } = this.#local?.view() ?? {};
      this.clock.away = false;
      const [at, jitterDraw] = [this.clock.now(), 0];
      const left = (blocked?.until ?? 0) + this.clock.ahead - at;
      if (left > 0) this.#write({ kind: 'response', at, id: 'inherited', seen: refusal(at, left), jitterDraw });
      for (const record of this.#unsaved.splice(0)) this.#write(record);
    } catch {
      // Tried again at a later request.
    }
    this.#reconnectAt = this.clock.monotonic() + RECONNECT_EVERY_MS;
  }
}

function shifted(seen: Seen, by: number): Seen {
  const { reset } = seen;
  const local = reset?.clock === 'local' ? { ...reset, at: reset.at + by } : reset;
  // Bounds measured with two clocks say nothing.
  return { ...seen, at: Math.round(seen.at + by), reset: local, offset: undefined };
}

// A block that one ledger inherits from the other.
function refusal(at: number, leftMs: number): Seen {
  const unknown = { limit: undefined, remaining: undefined, reset: undefined, offset: undefined };
  const wait = { waitMs: Math.ceil(leftMs), waitFrom: 'retry_after' as const, refused: true };
  return { at: Math.round(at), status: 429, ...unknown, ...wait };
}

// A record's time is the server's; a response arrived no later than it was recorded.
function stamp(text: string, at: number): string {
  const record = parseRecord(text);
  if (!record) return text;
  if (record.kind !== 'response') return formatRecord({ ...record, at });
  const seenAt = Math.max(Math.min(record.at, at), at - 600_000);
  return formatRecord({ ...record, at: seenAt, seen: { ...record.seen, at: seenAt } });
}
