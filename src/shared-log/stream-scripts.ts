// The two scripts of a StreamLog, each a call with one round trip.
import type { StateServer } from './state-server.ts';

export interface Entry {
  readonly id: string;
  /** The server's time, in epoch milliseconds. */
  readonly at: number;
  readonly record: string;
  /** The records of the state up to and including this entry, only at the head. */
  readonly snapshot: readonly string[] | undefined;
}

export interface Stream {
  readonly server: StateServer;
  readonly key: string;
  /** How long the server keeps an unused log, in milliseconds. */
  readonly ttlMs: number;
}

/** What the server has, compared with what the reader knows. */
export interface Exchange {
  /**
   * - `known`: the server has the last entry that the reader knows; `entries` are the later ones.
   * - `unknown`: the server lacks this entry, or the reader knows none; `entries` are all entries.
   * - `lost`: the server has no entries, although the reader knows one; it appended nothing.
   */
  readonly is: 'known' | 'unknown' | 'lost';
  /** The server's time, in epoch milliseconds. */
  readonly serverMs: number;
  /** The number of all entries. */
  readonly length: number;
  readonly entries: readonly Entry[];
}

// An entry is {id, {'t', time, 'r', record}}; the head of a rotated log is {id, {'t', time, 'r', record, 's', snapshot}}.
const FUNCTIONS = `
local function timeOf(entry) return entry[2][2] end
local function recordOf(entry) return entry[2][4] end
local function now()
  local t = redis.call('TIME')
  return string.format('%.0f', t[1] * 1000 + math.floor(t[2] / 1000))
end`;

const EXCHANGE = `${FUNCTIONS}
local log, last, known, ttl, record = KEYS[1], unpack(ARGV, 1, 4)
local time = now()
if last ~= '' and redis.call('EXISTS', log) == 0 then return {time, 'lost', 0, {}} end
local history, from = 'unknown', '-'
if last ~= '' then
  local found = redis.call('XRANGE', log, last, last)
  if #found == 1 and recordOf(found[1]) == known then history, from = 'known', '(' .. last end
end
if record then
  redis.call('XADD', log, '*', 't', time, 'r', record)
  redis.call('PEXPIRE', log, ttl)
end
return {time, history, redis.call('XLEN', log), redis.call('XRANGE', log, from, '+')}`;

// Puts a snapshot at the head. Later entries keep their ids, so readers that know them continue. A lost log begins
// with the snapshot.
const COMPACT = `${FUNCTIONS}
local log, last, known, limit, ttl, snapshot = KEYS[1], unpack(ARGV, 1, 5)
if redis.call('EXISTS', log) == 0 then
  redis.call('XADD', log, '*', 't', now(), 'r', '', 's', snapshot)
else
  if redis.call('XLEN', log) <= tonumber(limit) then return 0 end
  local rest = redis.call('XRANGE', log, last, '+')
  if #rest == 0 or rest[1][1] ~= last or recordOf(rest[1]) ~= known then return 0 end
  redis.call('DEL', log)
  redis.call('XADD', log, last, 't', timeOf(rest[1]), 'r', known, 's', snapshot)
  for i = 2, #rest do redis.call('XADD', log, rest[i][1], unpack(rest[i][2])) end
end
redis.call('PEXPIRE', log, ttl)
return 1`;

/**
 * Appends the record, if there is one, and reads the new entries.
 * @param last the last entry that the reader knows. The server must have it with the same record: after data loss, another
 *   entry may get the same id in the same millisecond.
 * @throws StateServerError
 */
export async function exchange({ server, key, ttlMs }: Stream, last?: Entry, record?: string): Promise<Exchange> {
  const args = [last?.id ?? '', last?.record ?? '', ttlMs, ...(record === undefined ? [] : [record])];
  const [time, is, length, entries] = (await server.run(EXCHANGE, key, args)) as ExchangeReply;
  return { is, serverMs: Number(time), length, entries: entries.map(readEntry) };
}

type ExchangeReply = readonly [time: string, is: Exchange['is'], length: number, entries: readonly EntryReply[]];
type EntryReply = readonly [id: string, fields: readonly string[]];

function readEntry([id, fields]: EntryReply): Entry {
  const [, at, , record = '', , snapshot] = fields;
  return { id, at: Number(at), record, snapshot: snapshot === undefined ? undefined : JSON.parse(snapshot) };
}

/**
 * Replaces all entries up to and including `last` by one with a snapshot, if there are at least `length`, and `last` is
 * one of them. A log that the server has lost begins with the snapshot, whatever its length was.
 * @throws StateServerError
 */
export async function compact(
  { server, key, ttlMs }: Stream,
  last: Entry | undefined,
  snapshot: Iterable<string>,
  length: number,
): Promise<void> {
  const args = [last?.id ?? '', last?.record ?? '', length - 1, ttlMs, JSON.stringify([...snapshot])];
  await server.run(COMPACT, key, args);
}

/** Whether entry `a` follows entry `b`. */
export function isLater(a: Entry, b: Entry): boolean {
  const [aTime = 0, aCount = 0] = a.id.split('-').map(Number);
  const [bTime = 0, bCount = 0] = b.id.split('-').map(Number);
  return aTime > bTime || (aTime === bTime && aCount > bCount);
}
