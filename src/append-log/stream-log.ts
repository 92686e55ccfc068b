// The append-only log as a stream on a Valkey or Redis server: many machines append, and all reduce the same state.
//
// Everything lives under one key. One script appends records and returns what is new: one round trip. Readers name the
// last entry they know, id and text; where the server no longer has it word for word (rotation, data loss, a failover),
// they reduce again from the head. After a rotation the head carries a snapshot of the state up to and including it.
import type { LogFormat } from './log.ts';
import type { StateServer } from './state-server.ts';
import { script } from './valkey-connection.ts';

const APPEND = script(`
local log, presence = KEYS[1], KEYS[2]
local last, text, ttl, page, holder, lease = unpack(ARGV, 1, 6)
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local stamp = string.format('%.0f', now)
if last ~= '' and redis.call('EXISTS', log) == 0 then return {stamp, 'lost', 0, {}} end
local from, known = '-', 'unknown'
if last ~= '' then
  local found = redis.call('XRANGE', log, last, last)
  if #found == 1 and found[1][2][4] == text then from, known = '(' .. last, 'known' end
end
for i = 7, #ARGV do redis.call('XADD', log, '*', 't', stamp, 'r', ARGV[i]) end
if #ARGV > 6 then redis.call('PEXPIRE', log, ttl) end
if holder ~= '' then
  redis.call('ZADD', presence, string.format('%.0f', now + lease), holder)
  redis.call('ZREMRANGEBYSCORE', presence, '-inf', string.format('%.0f', now - 60000))
  redis.call('PEXPIRE', presence, 120000)
end
return {stamp, known, redis.call('XLEN', log), redis.call('XRANGE', log, from, '+', 'COUNT', page)}`);

// Puts a snapshot at the head. Later entries keep their ids, so readers who know them go on; a lost log begins with it.
const REBASE = script(`
local log, last, text, limit, ttl, snapshot = KEYS[1], unpack(ARGV, 1, 5)
if redis.call('EXISTS', log) == 0 then
  local t = redis.call('TIME')
  local stamp = string.format('%.0f', t[1] * 1000 + math.floor(t[2] / 1000))
  redis.call('XADD', log, '*', 't', stamp, 'r', '', 's', snapshot)
else
  if redis.call('XLEN', log) <= tonumber(limit) then return 0 end
  local rest = redis.call('XRANGE', log, last, '+')
  if #rest == 0 or rest[1][1] ~= last or rest[1][2][4] ~= text then return 0 end
  redis.call('DEL', log)
  redis.call('XADD', log, last, 't', rest[1][2][2], 'r', text, 's', snapshot)
  for i = 2, #rest do redis.call('XADD', log, rest[i][1], unpack(rest[i][2])) end
end
redis.call('PEXPIRE', log, ttl)
return 1`);

const ABSENT = script(`
local t = redis.call('TIME')
local now, absent = t[1] * 1000 + math.floor(t[2] / 1000), {}
for i = 1, #ARGV do
  local till = redis.call('ZSCORE', KEYS[1], ARGV[i])
  if not till or tonumber(till) < now then absent[#absent + 1] = ARGV[i] end
end
return absent`);

const PAGE = 5000;

export interface StreamOptions {
  readonly server: StateServer;
  readonly key: string;
  /** How long the server keeps an unused log, milliseconds. */
  readonly ttlMs: number;
  /** Entries from which the log is rotated. */
  readonly rotateAt: number;
  /** Writes the server's time into a record, epoch milliseconds: no machine's clock may move the state. */
  readonly stamp: (record: string, at: number) => string;
  /** Called with the server's time in each reply, and with our monotonic times before and after. */
  readonly onTime?: (serverMs: number, sentAt: number, receivedAt: number) => void;
  /** Called after the state was reduced again from the head: records that were known may be missing. */
  readonly onReset?: () => void;
  readonly monotonic: () => number;
}

type Entry = readonly [id: string, fields: readonly string[]];

/** The log of one key. Every method that talks to the server throws StateServerError. */
export class StreamLog<State> {
  readonly #format: LogFormat<State>;
  readonly #options: StreamOptions;
  #state: State;
  #last = '';
  #text = '';
  #readAt = Number.NEGATIVE_INFINITY;
  #queue: string[] = [];
  #flushing: Promise<State> | undefined;
  #rotating = false;
  /** Announced with every call while set; see `absent`. */
  holder: { readonly id: string; readonly leaseMs: number } | undefined;

  constructor(format: LogFormat<State>, options: StreamOptions) {
    this.#format = format;
    this.#options = options;
    this.#state = format.initial();
  }

  last(): State {
    return this.#state;
  }

  /** When the state was last known to be complete, on the monotonic clock. */
  get readAt(): number {
    return this.#readAt;
  }

  async refresh(): Promise<State> {
    await this.#exchange([]);
    return this.#state;
  }

  /** Appends a record; records of the same moment share one round trip. May add it twice after a lost reply. */
  append(record: string): Promise<State> {
    this.#queue.push(record);
    this.#flushing ??= Promise.resolve().then(() => this.#flush());
    return this.#flushing;
  }

  /** @returns which of these holders have not announced themselves within their lease */
  async absent(holders: readonly string[]): Promise<readonly string[]> {
    return (await this.#options.server.run(ABSENT, [this.#presenceKey], holders)) as readonly string[];
  }

  get #presenceKey(): string {
    return `${this.#options.key}:present`;
  }

  async #flush(): Promise<State> {
    this.#flushing = undefined;
    await this.#exchange(this.#queue.splice(0));
    return this.#state;
  }

  async #exchange(records: readonly string[]): Promise<void> {
    const { server, key, ttlMs, rotateAt, monotonic, onTime } = this.#options;
    for (let sending = records; ; ) {
      const sentAt = monotonic();
      const { id = '', leaseMs = 0 } = this.holder ?? {};
      const reply = await server.run(
        APPEND,
        [key, this.#presenceKey],
        [this.#last, this.#text, ttlMs, PAGE, id, leaseMs, ...sending],
      );
      const [time, known, length, entries] = reply as [string, string, number, readonly Entry[]];
      onTime?.(Number(time), sentAt, monotonic());
      if (known === 'lost') {
        await this.#rebase();
        continue;
      }
      this.#reduce(entries, known === 'unknown');
      if (entries.length < PAGE) {
        this.#readAt = sentAt;
        if (length > rotateAt && records.length > 0) this.#rotate();
        return;
      }
      sending = [];
    }
  }

  #reduce(entries: readonly Entry[], fromHead: boolean): void {
    const again = fromHead && this.#last !== '';
    if (fromHead) {
      this.#state = this.#format.initial();
      this.#last = '';
    }
    for (const [id, [, at = '', , record = '', , snapshot]] of entries) {
      // Calls overlap: an earlier reply may have brought this entry.
      if (this.#last !== '' && !isLater(id, this.#last)) continue;
      if (snapshot !== undefined) {
        this.#state = this.#format.initial();
        for (const line of JSON.parse(snapshot) as string[]) this.#format.apply(this.#state, line);
      } else this.#format.apply(this.#state, this.#options.stamp(record, Number(at)));
      this.#last = id;
      this.#text = record;
    }
    if (again) this.#options.onReset?.();
  }

  #rotate(): void {
    if (this.#rotating) return;
    this.#rotating = true;
    // After a failure, the next append tries again.
    this.#rebase()
      .catch(() => undefined)
      .finally(() => {
        this.#rotating = false;
      });
  }

  async #rebase(): Promise<void> {
    const { server, key, ttlMs, rotateAt } = this.#options;
    const snapshot = JSON.stringify([...this.#format.snapshot(this.#state)]);
    await server.run(REBASE, [key], [this.#last, this.#text, rotateAt, ttlMs, snapshot]);
  }
}

function isLater(a: string, b: string): boolean {
  const [aTime = 0, aCount = 0] = a.split('-').map(Number);
  const [bTime = 0, bCount = 0] = b.split('-').map(Number);
  return aTime > bTime || (aTime === bTime && aCount > bCount);
}
