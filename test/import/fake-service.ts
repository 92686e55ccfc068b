// A service in memory and imports to it in virtual time.
import type { Api, Category, NewCategory } from '../../src/api/types.ts';
import { PetstoreError } from '../../src/errors.ts';
import type { LockOptions } from '../../src/import/lock.ts';
import { Lock } from '../../src/import/lock.ts';
import { openFileLock } from '../../src/import/lock-log.ts';
import type { RunOptions, RunResult } from '../../src/import/run.ts';
import { runImport } from '../../src/import/run.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { tempDir } from '../support/temp-dir.ts';

/**
 * The fate of one create. `lost`: committed without a response; `cut`: not committed, no response; `slow`: not committed, timed
 * out; `old`: 201 with an existing category; `one`: 201 with the category of the latest 201; `crash`: not committed, and the
 * process is killed.
 */
export type Fate =
  | 'ok'
  | 'lost'
  | 'cut'
  | 'slow'
  | 'old'
  | 'one'
  | 'rejected'
  | 'forbidden'
  | 'unauthorized'
  | 'limited'
  | 'unreachable'
  | 'crash';

const lostResponse = (): PetstoreError => new PetstoreError('unknown_outcome', 'no valid response was received');
const ERRORS: Partial<Record<Fate, () => PetstoreError>> = {
  lost: lostResponse,
  cut: lostResponse,
  slow: () => new PetstoreError('unknown_outcome', 'timed out', { processed: 'late' }),
  rejected: () =>
    new PetstoreError('rejected', 'rejected (400)', { status: 400, code: 'invalid', serviceMessage: 'bad name' }),
  forbidden: () => new PetstoreError('rejected', 'rejected (403)', { status: 403 }),
  unauthorized: () => new PetstoreError('auth', 'the key was rejected', { status: 401 }),
  limited: () => new PetstoreError('rate_limited', 'nothing is left', { retryAt: 1_800_000_500_000 }),
  unreachable: () => new PetstoreError('network', 'connection refused'),
};
const never = <T>(): Promise<T> => new Promise<T>(() => undefined);

export class FakeService {
  readonly categories: Category[] = [];
  readonly sent: NewCategory[] = [];
  /** Fates of the next creates; after them `fate` decides. */
  readonly fates: Fate[] = [];
  fate: () => Fate = () => 'ok';
  /** Called for each list; may throw. */
  onList: () => void = () => undefined;
  /** The part of all categories that the list shows. */
  show: (all: readonly Category[]) => readonly Category[] = (all) => all;
  isCached: () => boolean = () => false;
  /** The service's alteration of a name. */
  alter: (name: string) => string = (name) => name;
  lists = 0;
  readonly clock = new FakeClock(1_800_000_000_000);
  #nextId = 1;
  /** The category that the latest 201 named. */
  #confirmed: Category | undefined;
  #seed: Category | undefined;

  /** Adds a category that existed before the first run. */
  seed(row: NewCategory): Category {
    this.#seed = this.add(row);
    return this.#seed;
  }

  add(row: NewCategory): Category {
    const { name, description } = row;
    const described = description === undefined ? {} : { description };
    const category: Category = { id: this.#nextId++, name: this.alter(name), ...described };
    this.categories.push(category);
    return category;
  }

  /** @returns the service for one process; it never responds after a crash of that process */
  client(): { readonly api: Api['categories']; readonly crashed: Promise<'crashed'> } {
    let dead = false;
    let crash: () => void = () => undefined;
    const crashed = new Promise<'crashed'>((resolve) => {
      crash = () => {
        dead = true;
        resolve('crashed');
      };
    });
    const listFresh = async (): Promise<{ listed: readonly Category[]; fromCache: boolean }> => {
      await new Promise(setImmediate);
      if (dead) return never();
      this.lists++;
      this.onList();
      return { listed: [...this.show(this.categories)], fromCache: this.isCached() };
    };
    const create = async (row: NewCategory, beforeSend?: () => void): Promise<Category> => {
      if (dead) return never();
      beforeSend?.();
      this.sent.push(row);
      const fate = this.fates.shift() ?? this.fate();
      const committed = fate === 'ok' || fate === 'lost' ? this.add(row) : undefined;
      if (fate === 'crash') crash();
      await new Promise(setImmediate);
      if (dead) return never();
      const error = ERRORS[fate];
      if (error) throw error();
      if (fate === 'old') return this.#seed ?? this.add(row);
      if (fate === 'one') return { ...(this.#confirmed ?? this.add(row)), name: row.name };
      this.#confirmed = committed;
      return committed ?? never();
    };
    const list = async (): Promise<readonly Category[]> => (await listFresh()).listed;
    return { api: { list, listFresh, create }, crashed };
  }
}

const URL = 'https://pets.example/v1';
const living = new Set<number>();
let nextPid = 1;

/** An import that can be run several times. */
export class FakeImport {
  rows: readonly NewCategory[];
  readonly service = new FakeService();
  readonly stateDir = tempDir();
  constructor(rows: readonly NewCategory[]) {
    this.rows = rows;
  }

  get clock(): FakeClock {
    return this.service.clock;
  }

  /**
   * Runs the import in a new process.
   * @param others the liveness of every other process; by default the real one
   * @returns undefined if the process was killed
   */
  async run(options: Partial<RunOptions> = {}, others?: 'dead'): Promise<RunResult | undefined> {
    const self = { pid: nextPid++, start: '1', host: 'here' };
    living.add(self.pid);
    const processes: LockOptions['processes'] = {
      self,
      livenessOf: ({ pid }) => others ?? (living.has(pid) ? 'alive' : 'dead'),
    };
    const lock = new Lock(openFileLock(this.stateDir, URL), this.clock);
    const { api, crashed } = this.service.client();
    const { signal } = new AbortController();
    try {
      await lock.acquire({ signal, processes });
      const running = runImport({
        rows: this.rows,
        lock,
        categories: api,
        clock: this.clock,
        signal,
        concurrency: 4,
        maxRetries: 2,
        timeoutMs: 30_000,
        hasQuota: () => true,
        onPlan: async () => undefined,
        onProgress: () => undefined,
        ...options,
      });
      const result = await Promise.race([running, crashed]);
      if (result === 'crashed') return undefined;
      await lock.close();
      return result;
    } finally {
      living.delete(self.pid);
    }
  }
}

export function named(...names: string[]): NewCategory[] {
  return names.map((name) => ({ name }));
}

/** Whether a run ended without failed, unknown and pending rows. */
export function isComplete(result: RunResult | undefined): boolean {
  if (!result || result.stop) return false;
  const { failed, unknown, pending } = result.results.document();
  return failed.length + unknown.length + pending === 0;
}
