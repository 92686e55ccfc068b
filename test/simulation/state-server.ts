// An in-memory Valkey server with the two scripts of src/shared-log/stream-scripts.ts. It can go down, hang and lose data.
import { createHash } from 'node:crypto';
import type { Scheduler } from './scheduler.ts';
import { EPOCH } from './scheduler.ts';

type Entry = readonly [id: string, fields: readonly string[]];
type Reply = string | number | readonly (string | number | readonly Entry[])[];

// The SHA-1 digests of the two scripts.
const APPEND = '69e74bb06e6cc88a6a44a57589d534899268c9ee';
const COMPACT = '42ea66700104c0d6a0d09132db138bb7a2eb5c00';
/** The time until all machines use the server again after an outage, in milliseconds. */
const SETTLED_AFTER_MS = 10_000;

export class StateServer {
  /** The last time at which a machine may have missed or lost records; -1 before the first fault. */
  troubledUntil = -1;
  /** The time at which the server last lost data; minus infinity before. */
  lostAt = Number.NEGATIVE_INFINITY;
  hungUntil = 0;
  /** The periods in which the server was unavailable, or lost data. */
  readonly outages: { readonly from: number; readonly to: number }[] = [];
  /** The longest time that a call takes to reach the server, or a reply to return, in milliseconds. */
  readonly slowestMs: number;
  readonly #scheduler: Scheduler;
  readonly #streams = new Map<string, Entry[]>();
  #downUntil = 0;

  constructor(scheduler: Scheduler, slowestMs: number) {
    this.#scheduler = scheduler;
    this.slowestMs = slowestMs;
  }

  /** Whether the server ever had a fault. */
  get troubled(): boolean {
    return this.troubledUntil >= 0;
  }

  get isDown(): boolean {
    return this.#scheduler.now < this.#downUntil;
  }

  goDown(ms: number): void {
    this.#downUntil = this.#scheduler.now + ms;
    this.#trouble(ms);
  }

  /** Hangs for this time: commands arrive, but are executed only afterwards. */
  hang(ms: number): void {
    this.hungUntil = this.#scheduler.now + ms;
    this.#trouble(ms);
  }

  /** Loses the records of the last `lastMs`, as after a failover, or all records. */
  lose(lastMs: number): void {
    this.lostAt = this.#scheduler.now;
    const from = Number(this.#now) - lastMs;
    for (const [key, entries] of this.#streams) {
      const left = entries.filter(([id]) => Number(id.split('-')[0]) < from);
      if (left.length > 0) this.#streams.set(key, left);
      else this.#streams.delete(key);
    }
    this.#trouble(0);
  }

  #trouble(ms: number): void {
    const { now } = this.#scheduler;
    this.outages.push({ from: now, to: now + ms });
    this.troubledUntil = Math.max(this.troubledUntil, now + ms + SETTLED_AFTER_MS);
  }

  /** The number of entries in the longest log. */
  get longestLog(): number {
    return Math.max(0, ...[...this.#streams.values()].map(({ length }) => length));
  }

  /** All its data, for the invariants. */
  dump(): string {
    return JSON.stringify([...this.#streams]);
  }

  /** @throws an error that ends the simulation if the program calls anything but these versions of its two scripts */
  call(command: string, [script = '', , key = '', ...args]: readonly string[]): Reply {
    const sha1 = createHash('sha1').update(script).digest('hex');
    if (sha1 === APPEND) return this.#append(key, args);
    if (sha1 === COMPACT) return this.#compact(key, args);
    throw new Error(`${command} ${sha1}: a script of stream-scripts.ts has changed; change it in state-server.ts, too`);
  }

  get #now(): string {
    return String(Math.floor(EPOCH + this.#scheduler.now));
  }

  #append(key: string, [last, text, , record]: readonly string[]): Reply {
    const stream = this.#streams.get(key);
    if (last !== '' && !stream) return [this.#now, 'lost', 0, []];
    const entries = stream ?? [];
    const at = entries.findLastIndex(([id, fields]) => id === last && fields[3] === text);
    if (record !== undefined) this.#add(key, ['t', this.#now, 'r', record]);
    const read = (this.#streams.get(key) ?? []).slice(at + 1);
    return [this.#now, at >= 0 ? 'known' : 'unknown', this.#streams.get(key)?.length ?? 0, read];
  }

  #compact(key: string, [last = '', text = '', limit, , snapshot = '']: readonly string[]): Reply {
    const entries = this.#streams.get(key);
    if (!entries) this.#add(key, ['t', this.#now, 'r', '', 's', snapshot]);
    else {
      const [head, ...rest] = entries.slice(entries.findLastIndex(([id]) => id === last));
      if (entries.length <= Number(limit) || head?.[0] !== last || head[1][3] !== text) return 0;
      this.#streams.set(key, [[last, ['t', head[1][1] as string, 'r', text, 's', snapshot]], ...rest]);
    }
    return 1;
  }

  #add(key: string, fields: readonly string[]): void {
    const stream = this.#streams.get(key) ?? [];
    this.#streams.set(key, stream);
    const [time = 0, count = 0] = (stream.at(-1)?.[0] ?? '0-0').split('-').map(Number);
    stream.push([Number(this.#now) > time ? `${this.#now}-0` : `${time}-${count + 1}`, fields]);
  }
}
