// The append-only log as a stream on a Valkey or Redis server: many machines append, and all reduce the same state.
//
// One script appends a record and returns the new entries, in one round trip. A reader names the last entry that it knows;
// if the server no longer has that entry with the same text (rotation, data loss, a failover), the reader reduces again from
// the head. After a rotation, the head entry has a snapshot of the state, its own record included. Entries from another
// program are ignored.
import { randomUUID } from 'node:crypto';
import type { Clock } from '../clock.ts';
import { withChecksum, withoutChecksum } from './framing.ts';
import type { Log, LogFormat } from './log.ts';
import { tryParseJson } from './log.ts';
import { ServerClock } from './server-clock.ts';
import type { Reply, StateServer } from './state-server.ts';
import { DATA_LOST, StateServerError, UNKNOWN_REPLY } from './state-server-error.ts';

// An entry is {id, {'t', time, 'r', text}}; the head of a rotated log is {id, {'t', time, 'r', text, 's', snapshot}}.
const FUNCTIONS = `
local function timeOf(entry) return entry[2][2] end
local function textOf(entry) return entry[2][4] or '' end
local function now()
  local t = redis.call('TIME')
  return string.format('%.0f', t[1] * 1000 + math.floor(t[2] / 1000))
end`;

const APPEND = `${FUNCTIONS}
local log, last, text, ttl, record = KEYS[1], unpack(ARGV, 1, 4)
local time = now()
if last ~= '' and redis.call('EXISTS', log) == 0 then return {time, 'lost', 0, {}} end
local history, from = 'unknown', '-'
if last ~= '' then
  local found = redis.call('XRANGE', log, last, last)
  if #found == 1 and textOf(found[1]) == text then history, from = 'known', '(' .. last end
end
if record then
  redis.call('XADD', log, '*', 't', time, 'r', record)
  redis.call('PEXPIRE', log, ttl)
end
return {time, history, redis.call('XLEN', log), redis.call('XRANGE', log, from, '+')}`;

// Puts a snapshot at the head. Later entries keep their ids, so readers that know them continue. A lost log begins
// with the snapshot.
const COMPACT = `${FUNCTIONS}
local log, last, text, limit, ttl, snapshot = KEYS[1], unpack(ARGV, 1, 5)
if redis.call('EXISTS', log) == 0 then
  redis.call('XADD', log, '*', 't', now(), 'r', '', 's', snapshot)
else
  if redis.call('XLEN', log) <= tonumber(limit) then return 0 end
  local rest = redis.call('XRANGE', log, last, '+')
  if #rest == 0 or rest[1][1] ~= last or textOf(rest[1]) ~= text then return 0 end
  redis.call('DEL', log)
  redis.call('XADD', log, last, 't', timeOf(rest[1]), 'r', text, 's', snapshot)
  for i = 2, #rest do redis.call('XADD', log, rest[i][1], unpack(rest[i][2])) end
end
redis.call('PEXPIRE', log, ttl)
return 1`;

export interface StreamOptions<State> {
  readonly server: StateServer;
  readonly key: string;
  /** How long the server keeps an unused log, in milliseconds. */
  readonly ttlMs: number;
  readonly clock: Clock;
  /** The maximum age of a read for `freshState` to return the state, in milliseconds. */
  readonly freshMs: number;
  /** The log is rotated when it has this many entries, and at multiples of this number. */
  readonly rotateAt: number;
  /** Called with the previous state when the state was reduced again from the head: known records may be missing. */
  readonly onReset?: (before: State, now: number) => void;
}

/** An entry of the stream; in an entry from another program, the fields may have any text. */
interface Entry {
  readonly id: string;
  /** The server's time, in epoch milliseconds. */
  readonly at: string;
  readonly text: string;
  /** The state up to and including this entry, only at the head. */
  readonly snapshot: string | undefined;
}

/** The reply to APPEND. */
interface Exchange {
  readonly serverMs: number;
  /**
   * `known`: the server has the last entry that the reader knows, and `entries` are later ones. `unknown`: it does not, and
   * `entries` are all entries. `lost`: it has no entries, and appended nothing.
   */
  readonly history: 'known' | 'unknown' | 'lost';
  readonly length: number;
  readonly entries: readonly Entry[];
}

/** The log in one key of the server. Its asynchronous methods reject with StateServerError. */
export class StreamLog<State> implements Log<State> {
  readonly #format: LogFormat<State, unknown>;
  readonly #options: StreamOptions<State>;
  readonly #serverClock: ServerClock;
  readonly server: StateServer;
  #state: State;
  // An id alone does not identify an entry: after data loss, another one may get the same id in the same millisecond.
  #last: Entry | undefined;

  constructor(format: LogFormat<State, unknown>, options: StreamOptions<State>) {
    this.#format = format;
    this.#options = options;
    this.#serverClock = new ServerClock(options.clock);
    this.server = options.server;
    this.#state = format.initial();
  }

  /** The server's clock minus ours according to its last reply, in milliseconds. */
  get clockOffsetMs(): number {
    return this.#serverClock.offsetMs;
  }

  cached(): State {
    return this.#state;
  }

  freshState(): State | undefined {
    return this.#serverClock.isFresh(this.#options.freshMs) ? this.#state : undefined;
  }

  async refresh(): Promise<State> {
    await this.#exchange();
    return this.#state;
  }

  /** May add the record twice after a lost reply. */
  async append(record: string): Promise<void> {
    const length = await this.#exchange(withChecksum(record));
    // Of all writers, only the one whose record makes the log this long rotates it.
    if (length % this.#options.rotateAt === 0) await this.#compact();
  }

  /** Does nothing, since the connection belongs to the StateServer. */
  close(): void {}

  // Appends the text, if there is one, and reduces the new entries. Returns the length of the log.
  async #exchange(text?: string): Promise<number> {
    let { sentAt, reply } = await this.#send(text);
    if (reply.history === 'lost') {
      await this.#compact();
      ({ sentAt, reply } = await this.#send(text));
    }
    const { serverMs, history, length, entries } = reply;
    const isKept = history !== 'lost' && (text === undefined || entries.at(-1)?.text === text);
    if (!isKept) throw new StateServerError(DATA_LOST);
    this.#serverClock.read(serverMs, sentAt);
    if (history === 'known') this.#reduce(entries);
    else this.#reduceFromHead(entries);
    return length;
  }

  async #send(text: string | undefined) {
    const { key, ttlMs } = this.#options;
    const sentAt = this.#serverClock.moment;
    const { id = '', text: lastText = '' } = this.#last ?? {};
    const args = [id, lastText, ttlMs, ...(text === undefined ? [] : [text])];
    return { sentAt, reply: readReply(await this.server.run(APPEND, key, args)) };
  }

  #reduceFromHead(entries: readonly Entry[]): void {
    const before = this.#last && this.#state;
    this.#state = this.#format.initial();
    this.#last = undefined;
    this.#reduce(entries);
    if (before) this.#options.onReset?.(before, this.#options.clock.now() + this.clockOffsetMs);
  }

  #reduce(entries: readonly Entry[]): void {
    for (const entry of entries) {
      // Skip entries that the reply to a concurrent call contained.
      if (this.#last && !isLater(entry, this.#last)) continue;
      this.#last = entry;
      this.#apply(entry);
    }
  }

  #apply({ at, text, snapshot }: Entry): void {
    const record = withoutChecksum(snapshot ?? text);
    if (record === undefined) return;
    if (snapshot === undefined) {
      this.#format.apply(this.#state, record, Number(at));
      return;
    }
    this.#state = this.#format.initial();
    const records = tryParseJson(record);
    if (!Array.isArray(records)) return;
    for (const one of records) this.#format.apply(this.#state, String(one));
  }

  async #compact(): Promise<void> {
    const { key, ttlMs, rotateAt } = this.#options;
    const snapshot = withChecksum(JSON.stringify([...this.#format.snapshot(this.#state)]));
    const { id = '', text = '' } = this.#last ?? {};
    await this.server.run(COMPACT, key, [id, text, rotateAt - 1, ttlMs, snapshot]);
  }
}

/** @throws StateServerError if the reply does not have the shape that the script returns */
function readReply(reply: Reply): Exchange {
  const [time, history, length, entries] = Array.isArray(reply) ? (reply as readonly Reply[]) : [];
  const isHistory = history === 'known' || history === 'unknown' || history === 'lost';
  if (typeof time !== 'string' || !/^\d{1,15}$/.test(time) || !isHistory || typeof length !== 'number')
    throw new StateServerError(UNKNOWN_REPLY);
  if (!Array.isArray(entries)) throw new StateServerError(UNKNOWN_REPLY);
  return { serverMs: Number(time), history, length, entries: entries.map(readEntry) };
}

function readEntry(entry: Reply): Entry {
  const [id, fields] = Array.isArray(entry) ? (entry as readonly Reply[]) : [];
  if (typeof id !== 'string' || !/^\d+-\d+$/.test(id) || !Array.isArray(fields))
    throw new StateServerError(UNKNOWN_REPLY);
  // Another program may have added entries with other fields.
  const [, at = '', , text = '', , snapshot] = fields.map((field) => (typeof field === 'string' ? field : ''));
  return { id, at, text, snapshot };
}

function isLater(a: Entry, b: Entry): boolean {
  const [aTime = 0, aCount = 0] = a.id.split('-').map(Number);
  const [bTime = 0, bCount = 0] = b.id.split('-').map(Number);
  return aTime > bTime || (aTime === bTime && aCount > bCount);
}

/**
 * Runs every command that petstore needs on a server, for `petstore doctor`.
 * @returns the policy by which it may delete keys; undefined if it deletes none
 * @throws PetstoreError `usage` or `storage` if a command fails
 */
export async function checkServer(server: StateServer, clock: Clock): Promise<string | undefined> {
  const format: LogFormat<undefined> = { initial: () => undefined, apply: () => undefined, snapshot: () => [] };
  const key = `petstore:{doctor}:${randomUUID()}`;
  const log = new StreamLog(format, { server, clock, key, ttlMs: 1000, freshMs: 0, rotateAt: 1 });
  try {
    const policy = await server.evictionPolicy();
    // The first record creates the log and rotates it; the second reads it.
    for (const record of ['1', '2']) await log.append(record);
    return policy;
  } catch (error) {
    throw server.toPetstoreError(error, 'start the state server, or correct stateUrl');
  }
}
