// An in-memory service that loses, delays and alters creates. Imports into it run in virtual time.
import type { Categories } from '../../src/api/categories.ts';
import { PetstoreError } from '../../src/errors.ts';
import { HEARTBEAT_MS, Lock } from '../../src/import/lock.ts';
import type { LockState } from '../../src/import/lock-format.ts';
import { lockFormat } from '../../src/import/lock-format.ts';
import type { RunOptions, RunResult } from '../../src/import/run.ts';
import { runImport } from '../../src/import/run.ts';
import type { Category, NewCategory } from '../../src/public-types.ts';
import type { Log } from '../../src/shared-log/log.ts';
import { MemoryLog } from '../../src/shared-log/log.ts';
import { FakeClock } from '../support/fake-clock.ts';

/** The default timeout of a create, in milliseconds; only a create that hangs takes this long. */
const TIMEOUT_MS = 30_000;
/** The longest time after a kill until the service processes a request of the killed process, in milliseconds. */
const AFTER_KILL_MS = 9900;

/** The errors of the client. */
const ERRORS = {
  reset: () => new PetstoreError('unknown_outcome', 'unknown', { problem: 'the service returned 500' }),
  timeout: () => new PetstoreError('unknown_outcome', 'timed out', { processed: 'late' }),
  interrupted: () => new PetstoreError('interrupted', 'interrupted', { processed: 'perhaps' }),
  refused: () => new PetstoreError('network', 'connection refused'),
  400: () => new PetstoreError('rejected', 'rejected (400)', { status: 400 }),
  401: () => new PetstoreError('auth', 'the key was rejected', { status: 401 }),
  429: () => new PetstoreError('rate_limited', 'nothing is left', { retryAt: 1_800_000_500_000 }),
};

interface Effect {
  /** The time within which the create is committed; undefined if never. */
  readonly commitMs?: number;
  /** A failure instead of the 201. */
  readonly response?: keyof typeof ERRORS;
  readonly afterMs?: number;
  readonly kills?: true;
  /** The 201 has the id of the first existing category, of the latest 201, or of the next category. */
  readonly names?: 'old' | 'latest' | 'next';
}

type Effects = Readonly<Record<string, Effect>>;

/** The fates after which the category of a create may or may not exist. */
export const UNCERTAIN = {
  lost: { commitMs: 0, response: 'reset' },
  'lost, then committed': { commitMs: 1900, response: 'reset' },
  cut: { response: 'reset' },
  'slow, then committed': { commitMs: 28_000, response: 'timeout' },
  hangs: { commitMs: 29_000, response: 'timeout', afterMs: TIMEOUT_MS },
  'hangs and is cut': { response: 'timeout', afterMs: TIMEOUT_MS },
  old: { names: 'old' },
  latest: { names: 'latest' },
} as const satisfies Effects;

/** The fates that end a run. */
export const EARLY_ENDS = {
  unauthorized: { response: 401 },
  limited: { response: 429 },
  unreachable: { response: 'refused' },
  interrupted: { commitMs: 0, response: 'interrupted' },
  crash: { kills: true },
  'crash after the commit': { commitMs: 0, kills: true },
  'crash before the commit': { commitMs: AFTER_KILL_MS, kills: true },
} as const satisfies Effects;

const FATES = {
  ok: { commitMs: 0 },
  rejected: { response: 400 },
  slow: { response: 'timeout' },
  next: { names: 'next' },
  ...UNCERTAIN,
  ...EARLY_ENDS,
} as const satisfies Effects;

export type Fate = keyof typeof FATES;

/** A category, with the name that was sent for it and the client that sent it. */
export interface Item extends Category {
  readonly sent: string;
  readonly by: string;
}

/** The deviations of the service from a normal one. */
export interface Script {
  /** The fate of create number `at`, from 0. */
  fate?: (at: number, name: string) => Fate | undefined;
  /** Called for each list; may throw, or end the process by calling `kill`. */
  onList?: (kill: () => void) => void;
  /** The content of list number `at` for a process that has seen these ids. */
  show?: (all: readonly Item[], at: number, seen: ReadonlySet<Category['id']>) => readonly Item[];
  isCached?: (at: number) => boolean;
  /** Whether the quota allows a list without a wait; by default, it does. */
  hasQuota?: () => boolean;
  /** The name that the service gives a category; a 201 shows it, too, unless `echoes`. */
  alter?: (name: string) => string;
  echoes?: boolean;
  /** Draws a delay of at most `ms`. */
  draw?: (ms: number) => number;
}

export class FakeService {
  readonly items: Item[] = [];
  readonly sent: NewCategory[] = [];
  lists = 0;
  nextId = 1;
  readonly script: Script;
  readonly clock: FakeClock;
  #latest: Item | undefined;

  constructor(clock = new FakeClock(1_800_000_000_000), script: Script = {}) {
    this.clock = clock;
    this.script = script;
  }

  add({ name, description }: NewCategory, by = 'before'): Item {
    const described = description === undefined ? {} : { description };
    const item = { id: this.nextId++, name: this.script.alter?.(name) ?? name, ...described, sent: name, by };
    this.items.push(item);
    return item;
  }

  /** A client of the service for one process. If the process is killed, `crashed` resolves and no call ends. */
  client(by = 'a client') {
    const seen = new Set<Category['id']>();
    const killed = new AbortController();
    const kill = (): void => killed.abort();
    const crashed = new Promise<undefined>((resolve) =>
      killed.signal.addEventListener('abort', () => resolve(undefined)),
    );
    const isAlive = (): boolean => !killed.signal.aborted;
    const alive = <T>(value: T): T | Promise<never> => (isAlive() ? value : new Promise<never>(() => undefined));
    const listFresh: Categories['listFresh'] = async (once) => {
      await this.#delay(60);
      await alive(undefined);
      this.script.onList?.(kill);
      if (once && this.script.hasQuota?.() === false) throw new PetstoreError('rate_limited', 'quota exhausted');
      const at = this.lists++;
      const fromCache = this.script.isCached?.(at) ?? false;
      const listed = (this.script.show?.([...this.items], at, seen) ?? this.items).map(visible);
      if (!fromCache) for (const { id } of listed) seen.add(id);
      await this.#delay(60);
      return alive({ listed, flaw: fromCache ? { reason: 'cached' } : undefined });
    };
    const create = async (row: NewCategory, beforeSend?: () => void): Promise<Category> => {
      await this.#delay(20);
      await alive(undefined);
      beforeSend?.();
      const fate = this.script.fate?.(this.sent.push(row) - 1, row.name) ?? 'ok';
      const { commitMs, response, afterMs = 0, kills, names }: Effect = FATES[fate];
      let item: Item | undefined;
      let isAnswered = false;
      const commit = (): Item => (item ??= this.add(row, by));
      if (commitMs === 0) commit();
      else if (commitMs !== undefined) {
        void this.#delay(kills ? AFTER_KILL_MS : commitMs).then(commit);
        void crashed.then(() => (isAnswered ? undefined : this.#delay(AFTER_KILL_MS).then(commit)));
      }
      if (kills) kill();
      await this.#delay(80);
      if (afterMs > 0) await this.clock.sleep(afterMs);
      await alive(undefined);
      isAnswered = true;
      if (response) throw ERRORS[response]();
      if (names === 'next') return { id: this.nextId, name: row.name };
      const named = names === 'old' ? this.items[0] : names === 'latest' ? this.#latest : undefined;
      if (named) return { ...visible(named), ...(names === 'latest' && { name: row.name }) };
      this.#latest = commit();
      seen.add(this.#latest.id);
      return { ...visible(this.#latest), ...(this.script.echoes && { name: row.name }) };
    };
    const api: Categories = { list: listFresh, listFresh, create };
    return { api, crashed, isAlive };
  }

  #delay(ms: number): Promise<unknown> {
    const drawn = this.script.draw?.(ms) ?? 0;
    return drawn > 0 ? this.clock.sleep(drawn) : new Promise(setImmediate);
  }
}

function visible({ sent: _sent, by: _by, ...category }: Item): Category {
  return category;
}

/** The context of a lock whose log is a MemoryLog. */
export const IN_MEMORY = { isOnServer: false, toError: (error: unknown): unknown => error };

/** An import that can be run several times, by processes that share a lock. */
export class FakeImport {
  rows: readonly NewCategory[];
  readonly service: FakeService;
  readonly clock: FakeClock;
  /** Whether runs write heartbeats in virtual time. */
  beats = false;
  /** Whether the lock is on a server, which may lose records. */
  isOnServer = false;
  readonly log = new MemoryLog(lockFormat);
  readonly #living = new Set<number>();
  #nextPid = 1;

  constructor(rows: readonly NewCategory[], service = new FakeService()) {
    this.rows = rows;
    this.service = service;
    this.clock = service.clock;
  }

  /**
   * Runs the import in a new process.
   * @param others the liveness of every other process; by default, whether it is running
   * @returns undefined if the process was killed
   */
  async run(options: Partial<RunOptions> = {}, others?: 'dead'): Promise<RunResult | undefined> {
    const pid = this.#nextPid++;
    // Another run may set other rows while this one waits for the lock.
    const { clock, rows } = this;
    const { api, crashed, isAlive } = this.service.client(`process ${pid}`);
    const { signal } = new AbortController();
    const lock = new Lock(this.#logOf(isAlive), clock, {
      ...{ ...IN_MEMORY, isOnServer: this.isOnServer },
      process: { pid, start: '1', host: 'here' },
      livenessOf: (other) => others ?? (this.#living.has(other.pid) ? 'alive' : 'dead'),
    });
    this.#living.add(pid);
    const pause: RunOptions['pause'] = async (ms) => (ms > 0 ? clock.sleep(ms, signal) : undefined);
    const work = async (): Promise<RunResult> => {
      void this.#beat(lock, pid);
      return runImport({
        rows,
        lock,
        signal,
        categories: api,
        pause,
        concurrency: 4,
        maxRetries: 2,
        timeoutMs: TIMEOUT_MS,
        onProgress: () => undefined,
        ...options,
      });
    };
    try {
      return await Promise.race([work(), crashed]);
    } finally {
      this.#living.delete(pid);
      await lock.close();
    }
  }

  // A killed process writes nothing.
  #logOf(isAlive: () => boolean): Log<LockState> {
    const { log } = this;
    return {
      cached: () => log.cached(),
      freshState: () => log.freshState(),
      refresh: () => log.refresh(),
      append: (record) => (isAlive() ? log.append(record) : undefined),
      close: () => undefined,
    };
  }

  async #beat(lock: Lock, pid: number): Promise<void> {
    for (; this.beats && this.#living.has(pid); await this.clock.sleep(HEARTBEAT_MS)) void lock.heartbeat();
  }
}

export function named(...names: string[]): NewCategory[] {
  return names.map((name) => ({ name }));
}

/** Whether a run ended without a stop and without failed, unknown or pending rows. */
export function isComplete(result: RunResult | undefined): boolean {
  if (!result || result.stop) return false;
  const { failed, unknown, pending } = result.results.document();
  return failed.length + unknown.length + pending === 0;
}
