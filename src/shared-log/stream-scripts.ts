// The two scripts of a StreamLog, each a call with one round trip.
import type { Reply, StateServer } from './state-server.ts';
import { StateServerError, UNKNOWN_REPLY } from './state-server-error.ts';

/** An entry of the stream; in an entry from another program, the fields may have any text. */
export interface Entry {
  readonly id: string;
  /** The server's time, in epoch milliseconds. */
  readonly at: string;
  readonly text: string;
  /** The state up to and including this entry, only at the head. */
  readonly snapshot: string | undefined;
}

/** The stream of a log. */
export interface Stream {
  readonly server: StateServer;
  readonly key: string;
  /** How long the server keeps an unused log, in milliseconds. */
  readonly ttlMs: number;
}

/** What the server has, compared with what the reader knows. `serverMs`: its time, in epoch milliseconds. */
export type Exchange =
  /** It has the last entry that the reader knows; `entries` are the later ones. */
  | { readonly is: 'known'; readonly serverMs: number; readonly length: number; readonly entries: readonly Entry[] }
  /** It has not, or the reader knows none; `entries` are all entries. */
  | { readonly is: 'unknown'; readonly serverMs: number; readonly length: number; readonly entries: readonly Entry[] }
  /** It has no entries, although the reader knows one; it appended nothing. */
  | { readonly is: 'lost' };

// An entry is {id, {'t', time, 'r', text}}; the head of a rotated log is {id, {'t', time, 'r', text, 's', snapshot}}.
const FUNCTIONS = `
local function timeOf(entry) return entry[2][2] end
local function textOf(entry) return entry[2][4] or '' end
local function now()
  local t = redis.call('TIME')
  return string.format('%.0f', t[1] * 1000 + math.floor(t[2] / 1000))
end`;

const EXCHANGE = `${FUNCTIONS}
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

/**
 * Appends the text, if there is one, and reads the new entries; `length` counts all entries.
 * @param last the last entry that the reader knows. The server must have it with the same text: after data loss, another
 *   entry may get the same id in the same millisecond.
 * @throws StateServerError
 */
export async function exchange({ server, key, ttlMs }: Stream, last?: Entry, text?: string): Promise<Exchange> {
  const args = [last?.id ?? '', last?.text ?? '', ttlMs, ...(text === undefined ? [] : [text])];
  return readExchange(await server.run(EXCHANGE, key, args));
}

/**
 * Replaces all entries up to and including `last` by one with a snapshot, if there are at least `length`, and `last` is
 * one of them. A log that the server has lost begins with the snapshot, whatever its length was.
 * @throws StateServerError
 */
export async function compact(
  { server, key, ttlMs }: Stream,
  { last, snapshot, length }: { last: Entry | undefined; snapshot: string; length: number },
): Promise<void> {
  await server.run(COMPACT, key, [last?.id ?? '', last?.text ?? '', length - 1, ttlMs, snapshot]);
}

function readExchange(reply: Reply): Exchange {
  const [time, is, length, entries] = Array.isArray(reply) ? (reply as readonly Reply[]) : [];
  if (typeof time !== 'string' || !/^\d{1,15}$/.test(time) || typeof length !== 'number' || !Array.isArray(entries))
    throw new StateServerError(UNKNOWN_REPLY);
  switch (is) {
    case 'known':
    case 'unknown':
      return { is, serverMs: Number(time), length, entries: entries.map(readEntry) };
    case 'lost':
      return { is };
    default:
      throw new StateServerError(UNKNOWN_REPLY);
  }
}

function readEntry(entry: Reply): Entry {
  const [id, fields] = Array.isArray(entry) ? (entry as readonly Reply[]) : [];
  if (typeof id !== 'string' || !/^\d+-\d+$/.test(id) || !Array.isArray(fields))
    throw new StateServerError(UNKNOWN_REPLY);
  // Another program may have added entries with other fields.
  const [, at = '', , text = '', , snapshot] = fields.map((field) => (typeof field === 'string' ? field : ''));
  return { id, at, text, snapshot };
}

/** Whether entry `a` follows entry `b`. */
export function isLater(a: Entry, b: Entry): boolean {
  const [aTime = 0, aCount = 0] = a.id.split('-').map(Number);
  const [bTime = 0, bCount = 0] = b.id.split('-').map(Number);
  return aTime > bTime || (aTime === bTime && aCount > bCount);
}
