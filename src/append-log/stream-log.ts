// The append-only log as a stream on a Valkey or Redis server: many machines append, and all reduce the same state.
//
// One script appends a record and returns the new entries, in one round trip. A reader names the last entry that it knows;
// if the server no longer has that entry with the same text (rotation, data loss, a failover), the reader reduces again from
// the head. After a rotation the head entry has a snapshot of the state up to and including it. Entries of another program are
// ignored.
import { randomUUID } from 'node:crypto';
import type { Clock } from '../clock.ts';
import type { Log, LogFormat } from './log.ts';
import { parseJson, withChecksum, withoutChecksum } from './log.ts';
import type { Reply, StateServer } from './state-server.ts';
import { KEEPS_NOTHING, StateServerError, UNKNOWN_REPLY } from './state-server-error.ts';

const APPEND = `
local log, last, text, ttl, record = KEYS[1], unpack(ARGV, 1, 4)
local t = redis.call('TIME')
local stamp = string.format('%.0f', t[1] * 1000 + math.floor(t[2] / 1000))
if last ~= '' and redis.call('EXISTS', log) == 0 then return {stamp, 'lost', 0, {}} end
local from, known = '-', 'unknown'
if last ~= '' then
  local found = redis.call('XRANGE', log, last, last)
  if #found == 1 and (found[1][2][4] or '') == text then from, known = '(' .. last, 'known' end
end
if record then
  redis.call('XADD', log, '*', 't', stamp, 'r', record)
  if tonumber(ttl) > 0 then redis.call('PEXPIRE', log, ttl) end
end
return {stamp, known, redis.call('XLEN', log), redis.call('XRANGE', log, from, '+')}`;

// Puts a snapshot at the head. Later entries keep their ids, so readers that know them continue. A lost log begins
// with the snapshot.
const COMPACT = `
local log, last, text, limit, ttl, snapshot = KEYS[1], unpack(ARGV, 1, 5)
if redis.call('EXISTS', log) == 0 then
  local t = redis.call('TIME')
  local stamp = string.format('%.0f', t[1] * 1000 + math.floor(t[2] / 1000))
  redis.call('XADD', log, '*', 't', stamp, 'r', '', 's', snapshot)
else
  if redis.call('XLEN', log) <= tonumber(limit) then return 0 end
  local rest = redis.call('XRANGE', log, last, '+')
  if #rest == 0 or rest[1][1] ~= last or (rest[1][2][4] or '') ~= text then return 0 end
  redis.call('DEL', log)
  redis.call('XADD', log, last, 't', rest[1][2][2], 'r', text, 's', snapshot)
  for i = 2, #rest do redis.call('XADD', log, rest[i][1], unpack(rest[i][2])) end
end
if tonumber(ttl) > 0 then redis.call('PEXPIRE', log, ttl) end
return 1`;

const LONGEST_TRIP_MS = 1000;

export interface StreamOptions<State> {
  readonly server: StateServer;
  readonly key: string;
  /** How long the server keeps an unused log, in milliseconds; forever if undefined. */
  readonly ttlMs?: number;
  readonly clock: Clock;
  /** How long `freshState` returns the state after it was read, in milliseconds. */
  readonly freshMs: number;
  /** The log is rotated when it has this many entries, and at multiples. */
  readonly rotateAt: number;
  /** Called with the previous state after reducing again from the head: known records may be missing now. */
  readonly onReset?: (before: State, now: number) => void;
}

/** An entry of the stream; its fields are '' in one of another program. */
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
  /** Whether the server has the last entry that the reader knows; `lost`: it has no entry at all. */
  readonly known: 'known' | 'unknown' | 'lost';
  readonly length: number;
  readonly entries: readonly Entry[];
}

/** The log in one key of the server. Its asynchronous methods reject with StateServerError. */
export class StreamLog<State> implements Log<State> {
  readonly #format: LogFormat<State, unknown>;
  readonly #options: StreamOptions<State>;
  readonly server: StateServer;
  #state: State;
  #last = '';
  // The text of that entry: after data loss, another one may get the same id in the same millisecond.
  #text = '';
  // When the state was last known to be complete.
  #readAt = { monotonic: Number.NEGATIVE_INFINITY, wall: 0 };
  #clockOffsetMs = 0;
  /** By how much `clockOffsetMs` may be wrong, in milliseconds. */
  offsetErrorMs = 0;

  constructor(format: LogFormat<State, unknown>, options: StreamOptions<State>) {
    this.#format = format;
    this.#options = options;
    this.server = options.server;
    this.#state = format.initial();
  }

  /** The server's clock minus ours according to its last reply, in milliseconds. */
  get clockOffsetMs(): number {
    // A suspension moves the wall clock only forward, so a wall clock that is behind was set back after that reply.
    return this.#clockOffsetMs + Math.max(0, -this.#jumpMs());
  }

  cached(): State {
    return this.#state;
  }

  freshState(): State | undefined {
    const { clock, freshMs } = this.#options;
    // If the wall clock moved against the monotonic one, the machine was suspended or its clock was set.
    const passed = clock.monotonic() - this.#readAt.monotonic;
    return passed <= freshMs && Math.abs(this.#jumpMs()) <= freshMs / 3 ? this.#state : undefined;
  }

  // How far the wall clock has moved ahead of the monotonic one since the state was read; negative if it was set back.
  #jumpMs(): number {
    const { clock } = this.#options;
    const { monotonic, wall } = this.#readAt;
    if (monotonic === Number.NEGATIVE_INFINITY) return 0;
    return Math.round(clock.now() - wall - (clock.monotonic() - monotonic));
  }

  async refresh(): Promise<State> {
    await this.#exchange();
    return this.#state;
  }

  /** May add the record twice after a lost reply. */
  append(record: string): Promise<void> {
    return this.#exchange(record);
  }

  /** Does nothing, since the connection belongs to the StateServer. */
  close(): void {}

  async #exchange(record?: string, isSecond = false): Promise<void> {
    const { key, ttlMs = 0, rotateAt, clock } = this.#options;
    const sentAt = { monotonic: clock.monotonic(), wall: clock.now() };
    const text = record === undefined ? undefined : withChecksum(record);
    const args = [this.#last, this.#text, ttlMs, ...(text === undefined ? [] : [text])];
    const { serverMs, known, length, entries } = readReply(await this.server.run(APPEND, key, args));
    this.#readClock(serverMs, sentAt.wall, clock.now());
    const isKept = known === 'lost' ? !isSecond : text === undefined || entries.at(-1)?.text === text;
    if (!isKept) throw new StateServerError(KEEPS_NOTHING);
    if (known === 'lost') {
      await this.#compact();
      return this.#exchange(record, true);
    }
    this.#reduce(entries, known === 'unknown');
    this.#readAt = sentAt;
    // Of all writers, only the one whose record makes the log this long rotates it.
    if (text !== undefined && length % rotateAt === 0) await this.#compact();
  }

  // Skips a reply that took long, for example because the process was suspended.
  #readClock(serverMs: number, sentAt: number, receivedAt: number): void {
    const tripMs = Math.abs(receivedAt - sentAt);
    if (tripMs > LONGEST_TRIP_MS && this.#readAt.monotonic > Number.NEGATIVE_INFINITY) return;
    this.#clockOffsetMs = Math.round(serverMs - (sentAt + receivedAt) / 2);
    this.offsetErrorMs = Math.ceil(tripMs / 2);
  }

  #reduce(entries: readonly Entry[], fromHead: boolean): void {
    const before = this.#last === '' ? undefined : this.#state;
    if (fromHead) {
      this.#state = this.#format.initial();
      this.#last = '';
    }
    for (const entry of entries) {
      // Skip entries that the reply to a concurrent call has contained.
      if (this.#last !== '' && !isLater(entry.id, this.#last)) continue;
      this.#last = entry.id;
      this.#text = entry.text;
      this.#apply(entry);
    }
    if (fromHead && before) this.#options.onReset?.(before, this.#options.clock.now() + this.clockOffsetMs);
  }

  #apply({ at, text, snapshot }: Entry): void {
    const record = withoutChecksum(snapshot ?? text);
    if (record === undefined) return;
    if (snapshot === undefined) {
      this.#format.apply(this.#state, record, Number(at));
      return;
    }
    this.#state = this.#format.initial();
    const records = parseJson(record);
    if (!Array.isArray(records)) return;
    for (const one of records) if (typeof one === 'string') this.#format.apply(this.#state, one);
  }

  async #compact(): Promise<void> {
    const { key, ttlMs = 0, rotateAt } = this.#options;
    const snapshot = withChecksum(JSON.stringify([...this.#format.snapshot(this.#state)]));
    await this.server.run(COMPACT, key, [this.#last, this.#text, rotateAt - 1, ttlMs, snapshot]);
  }
}

/** @throws StateServerError if the reply has another shape than the script returns */
function readReply(reply: Reply): Exchange {
  const [time, known, length, entries] = Array.isArray(reply) ? (reply as readonly Reply[]) : [];
  const isKnown = known === 'known' || known === 'unknown' || known === 'lost';
  if (typeof time !== 'string' || !/^\d{1,15}$/.test(time) || !isKnown || typeof length !== 'number')
    throw new StateServerError(UNKNOWN_REPLY);
  if (!Array.isArray(entries)) throw new StateServerError(UNKNOWN_REPLY);
  return { serverMs: Number(time), known, length, entries: entries.map(readEntry) };
}

function readEntry(entry: Reply): Entry {
  const [id, fields] = Array.isArray(entry) ? (entry as readonly Reply[]) : [];
  if (typeof id !== 'string' || !/^\d+-\d+$/.test(id) || !Array.isArray(fields))
    throw new StateServerError(UNKNOWN_REPLY);
  // Another program may have added entries of other fields.
  const [, at, , text, , snapshot] = fields.map((field) => (typeof field === 'string' ? field : ''));
  return { id, at: at ?? '', text: text ?? '', snapshot };
}

function isLater(a: string, b: string): boolean {
  const [aTime = 0, aCount = 0] = a.split('-').map(Number);
  const [bTime = 0, bCount = 0] = b.split('-').map(Number);
  return aTime > bTime || (aTime === bTime && aCount > bCount);
}

/**
 * Runs every command that is needed on a server.
 * @returns the policy by which it may delete keys; undefined if it deletes none
 * @throws PetstoreError `usage` or `storage` if the server does not permit one
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
    throw server.toPetstoreError(error);
  }
}
