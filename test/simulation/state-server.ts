// A Valkey server in memory with the commands that the program's scripts use. It can go down, lose data and evict keys.
import { compileLua } from './lua.ts';
import type { Scheduler } from './scheduler.ts';
import { EPOCH } from './scheduler.ts';

type Entry = readonly [id: string, fields: readonly string[]];
type Value =
  | { stream: Entry[]; last: string }
  | { set: Map<string, number> }
  | { text: string }
  | { hash: Map<string, string> };

/** An error reply, as the client library reports it. */
export class ReplyError extends Error {
  override readonly name = 'ReplyError';
}

/** The time until all machines use it again after an outage, milliseconds. */
const SETTLED_AFTER_MS = 10_000;

export class StateServer {
  /** Until when a machine may have missed or lost records; -1 before the first fault. */
  troubledUntil = -1;
  /** When it last lost data; -1 before. */
  lostAt = -1;
  /** When it was unavailable. */
  readonly outages: { readonly from: number; readonly to: number }[] = [];
  /** How long a call takes to it or back, milliseconds. */
  readonly slowestMs: number;
  readonly #scheduler: Scheduler;
  #data = new Map<string, Value>();
  #saved = new Map<string, Value>();
  #downUntil = 0;
  #hungUntil = 0;
  #startedAt = 0;
  #starts = 0;
  #evicted = 0;
  #isFlushed = false;
  readonly #scripts = new Map<string, ReturnType<typeof compileLua>>();

  constructor(scheduler: Scheduler, slowestMs: number) {
    this.#scheduler = scheduler;
    this.slowestMs = slowestMs;
  }

  /** Whether it has ever had a fault. */
  get troubled(): boolean {
    return this.troubledUntil >= 0;
  }

  get hungUntil(): number {
    return this.#hungUntil;
  }

  get isDown(): boolean {
    return this.#scheduler.now < this.#downUntil;
  }

  goDown(ms: number): void {
    this.#downUntil = this.#scheduler.now + ms;
    this.#trouble(ms);
  }

  /** Commands arrive, and are executed afterwards. */
  hang(ms: number): void {
    this.#hungUntil = this.#scheduler.now + ms;
    this.#trouble(ms);
  }

  #lose(): void {
    this.lostAt = this.#scheduler.now;
    this.#trouble(0);
  }

  #trouble(ms: number): void {
    const { now } = this.#scheduler;
    this.outages.push({ from: now, to: now + ms });
    this.troubledUntil = Math.max(this.troubledUntil, now + ms + SETTLED_AFTER_MS);
  }

  flush(): void {
    this.#lose();
    this.#isFlushed = true;
    this.#data.clear();
  }

  evict(): void {
    this.#lose();
    this.#evicted++;
    const keys = [...this.#data.keys()];
    this.#data.delete(keys[Math.floor(this.#scheduler.random() * keys.length)] ?? '');
  }

  /** Restarts with its last save. */
  restart(): void {
    this.goDown(500);
    this.#lose();
    this.#starts++;
    this.#startedAt = this.#downUntil;
    this.#evicted = 0;
    this.#isFlushed = false;
    this.#scripts.clear();
    this.#data = structuredClone(this.#saved);
  }

  /** Everything it holds, for the invariants. */
  dump(): string {
    return JSON.stringify(
      [...this.#data].map(([key, value]) => [
        key,
        JSON.stringify(value, (_, part: unknown) => (part instanceof Map ? [...part] : part)),
      ]),
    );
  }

  call(command: string, args: readonly string[]): unknown {
    const [first = '', second = '', ...rest] = args;
    const count = Number(second);
    switch (command.toUpperCase()) {
      case 'EVALSHA':
      case 'EVAL': {
        const run = this.#scripts.get(first) ?? (command === 'EVAL' ? compileLua(first) : undefined);
        if (!run) throw new ReplyError('NOSCRIPT No matching script');
        this.#scripts.set(first, run);
        // Save at random: a restart loses later changes.
        if (this.#scheduler.random() < 0.1) this.#saved = structuredClone(this.#data);
        return toReply(
          run(rest.slice(0, count), rest.slice(count), (name, ...values) =>
            this.#command(String(name), values.map(String)),
          ),
        );
      }
      default:
        return this.#command(command, args);
    }
  }

  /** Remembers a script under its hash, as a server does after EVAL. */
  learn(sha1: string, text: string): void {
    if (!this.#scripts.has(sha1)) this.#scripts.set(sha1, compileLua(text));
  }

  #command(name: string, args: readonly string[]): unknown {
    const [key = '', a = '', b = '', ...rest] = args;
    const now = Math.floor(EPOCH + this.#scheduler.now);
    switch (name.toUpperCase()) {
      case 'TIME':
        return [String(Math.floor(now / 1000)), String((now % 1000) * 1000)];
      case 'PING':
        return 'PONG';
      case 'INFO':
        return this.#info(now);
      case 'CONFIG':
        return [a, a === 'maxmemory' ? '0' : 'noeviction'];
      case 'AUTH':
      case 'SELECT':
        return 'OK';
      case 'EXISTS':
        return this.#data.has(key) ? 1 : 0;
      case 'DEL':
        return this.#data.delete(key) ? 1 : 0;
      case 'PEXPIRE':
      case 'EXPIRE':
      case 'PERSIST':
        return this.#data.has(key) ? 1 : 0;
      case 'XADD':
        return this.#addEntry(key, args.slice(1), now);
      case 'XLEN':
        return this.#stream(key).length;
      case 'XRANGE':
        return this.#range(this.#stream(key), a, b, rest);
      case 'XREVRANGE':
        return this.#range(this.#stream(key), b, a, [])
          .reverse()
          .slice(0, rest[0] ? Number(rest[1]) : undefined);
      case 'ZADD':
        this.#set(key).set(b, Number(a));
        return 1;
      case 'ZSCORE':
        return this.#set(key).get(a)?.toString() ?? false;
      case 'ZREMRANGEBYSCORE':
        for (const [member, score] of this.#set(key)) if (score <= Number(b)) this.#set(key).delete(member);
        return 0;
      case 'SET':
        this.#data.set(key, { text: a });
        return 'OK';
      case 'GET': {
        const value = this.#data.get(key);
        return value && 'text' in value ? value.text : false;
      }
      default:
        throw new Error(`the simulated state server does not know ${name}`);
    }
  }

  #info(now: number): string {
    const lines = {
      redis_version: '7.2.0',
      run_id: String(this.#starts).padStart(40, '0'),
      uptime_in_seconds: Math.max(0, Math.floor((now - EPOCH - this.#startedAt) / 1000)),
      maxmemory: 0,
      maxmemory_policy: this.#evicted > 0 ? 'allkeys-lru' : 'noeviction',
      evicted_keys: this.#evicted,
      ...(this.#isFlushed && { cmdstat_flushall: 'calls=1' }),
    };
    return Object.entries(lines)
      .map(([name, value]) => `${name}:${value}\r\n`)
      .join('');
  }

  #stream(key: string): Entry[] {
    const value = this.#data.get(key);
    return value && 'stream' in value ? value.stream : [];
  }

  #set(key: string): Map<string, number> {
    const value = this.#data.get(key) ?? { set: new Map<string, number>() };
    this.#data.set(key, value);
    return 'set' in value ? value.set : new Map();
  }

  #addEntry(key: string, args: readonly string[], now: number): string {
    const rest = [...args];
    while (/^(?:NOMKSTREAM|MAXLEN|MINID|~|=)$/.test(rest[0] ?? '')) rest.shift();
    const [wanted = '*', ...fields] = rest;
    const known = this.#data.get(key);
    const value = known && 'stream' in known ? known : { stream: [] as Entry[], last: '0-0' };
    const [time = 0, count = 0] = value.last.split('-').map(Number);
    const id = wanted !== '*' ? wanted : now > time ? `${now}-0` : `${time}-${count + 1}`;
    value.stream.push([id, fields]);
    value.last = id;
    this.#data.set(key, value);
    return id;
  }

  // Uses a binary search, since scripts read the end of a long stream.
  #range(stream: readonly Entry[], from: string, to: string, rest: readonly string[]): Entry[] {
    const first =
      from === '-' ? 0 : from.startsWith('(') ? placeOf(stream, from.slice(1), 1) : placeOf(stream, from, 0);
    const end = to === '+' ? stream.length : placeOf(stream, to, 1);
    const most = rest[0]?.toUpperCase() === 'COUNT' ? Number(rest[1]) : stream.length;
    return stream.slice(first, Math.min(end, first + most));
  }
}

// Returns the number of entries before `id`; if `included` is 1, an entry with that id counts too.
function placeOf(stream: readonly Entry[], id: string, included: 0 | 1): number {
  let [low, high] = [0, stream.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (compare((stream[middle] as Entry)[0], id) < included) low = middle + 1;
    else high = middle;
  }
  return low;
}

function compare(a: string, b: string): number {
  const [aEnd, bEnd] = [a.indexOf('-'), b.indexOf('-')];
  const difference = Number(a.slice(0, aEnd)) - Number(b.slice(0, bEnd));
  return difference || Number(a.slice(aEnd + 1)) - Number(b.slice(bEnd + 1));
}

// Converts a Lua value to a reply, as a server does.
function toReply(value: unknown): unknown {
  if (value === undefined || value === null || value === false) return null;
  if (value === true) return 1;
  if (typeof value === 'number') return Math.trunc(value);
  return Array.isArray(value) ? value.map(toReply) : value;
}
