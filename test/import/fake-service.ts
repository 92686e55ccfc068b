import type { Api, Category, NewCategory } from '../../src/api/types.ts';
import { PetstoreError } from '../../src/errors.ts';
import type { ImportPlan, RunOptions } from '../../src/import/import-state.ts';
import type { ProcessProbe } from '../../src/import/journal.ts';
import { Journal } from '../../src/import/journal.ts';
import type { JournalStore } from '../../src/import/journal-files.ts';
import { fileJournals, journalName } from '../../src/import/journal-files.ts';
import { otherImports } from '../../src/import/other-journals.ts';
import { digestOf } from '../../src/import/rows.ts';
import type { RunResult } from '../../src/import/run.ts';
import { runImport } from '../../src/import/run.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { tempDir } from '../support/temp-dir.ts';

/**
 * What becomes of one create. `late`: the answer is lost, and it is committed only after the next list.
 * `crash-…`: the process that sent it is killed, whatever else it has under way.
 */
export type Fate =
  | 'ok'
  | 'lost-committed'
  | 'lost'
  | 'late'
  | 'too-slow'
  | 'rejected'
  | 'forbidden'
  | 'unauthorized'
  | 'limited'
  | 'unreachable'
  | 'crash-committed'
  | 'crash';

const ERRORS: Partial<Record<Fate, () => PetstoreError>> = {
  lost: () => new PetstoreError('unknown_outcome', 'no valid response was received'),
  'lost-committed': () => new PetstoreError('unknown_outcome', 'no valid response was received'),
  late: () => new PetstoreError('unknown_outcome', 'no valid response was received'),
  'too-slow': () => new PetstoreError('unknown_outcome', 'gateway timeout', { status: 504 }),
  rejected: () =>
    new PetstoreError('rejected', 'rejected (400): bad name', {
      status: 400,
      code: 'invalid',
      serviceMessage: 'bad name',
    }),
  forbidden: () => new PetstoreError('rejected', 'rejected (403)', { status: 403 }),
  unauthorized: () => new PetstoreError('auth', 'the key was not accepted', { status: 401 }),
  limited: () => new PetstoreError('rate_limited', 'nothing is left', { retryAt: 1_800_000_500_000 }),
  unreachable: () => new PetstoreError('network', 'refused'),
};

const never = <T>(): Promise<T> => new Promise<T>(() => undefined);

/** The service, shared by every run of a test. */
export class FakeService {
  readonly categories: Category[] = [];
  readonly sent: NewCategory[] = [];
  /** Fates of the creates to come; afterwards all is well. */
  readonly fates: Fate[] = [];
  /** Called at every list; may throw. */
  onList: () => void = () => undefined;
  /** What the list shows of all categories; `ageMs` is how long each has existed. */
  show: (all: readonly Category[], ageMs: (category: Category) => number) => readonly Category[] = (all) => all;
  /** What the service makes of a name. */
  tidy: (name: string) => string = (name) => name;
  lists = 0;
  readonly clock = new FakeClock(1_800_000_000_000);
  readonly #committedAt = new Map<Category, number>();
  #late: NewCategory[] = [];
  #nextId = 1;

  add(row: NewCategory): Category {
    const category = { id: this.#nextId++, ...row, name: this.tidy(row.name) };
    this.categories.push(category);
    this.#committedAt.set(category, this.clock.now());
    return category;
  }

  /** @returns the service as one process sees it; after a crash nothing is answered any more */
  client(): { readonly api: Api['categories']; readonly crashed: Promise<'crashed'> } {
    let dead = false;
    let crash: () => void = () => undefined;
    const crashed = new Promise<'crashed'>((resolve) => {
      crash = () => {
        dead = true;
        resolve('crashed');
      };
    });
    const list = async (): Promise<readonly Category[]> => {
      await new Promise(setImmediate);
      if (dead) return never();
      this.lists++;
      this.onList();
      const ageMs = (category: Category): number => this.clock.now() - (this.#committedAt.get(category) ?? 0);
      const answer = [...this.show(this.categories, ageMs)];
      for (const row of this.#late.splice(0)) this.add(row);
      return answer;
    };
    const create = async (row: NewCategory, beforeSend?: () => void): Promise<Category> => {
      if (dead) return never();
      beforeSend?.();
      this.sent.push(row);
      const fate = this.fates.shift() ?? 'ok';
      if (fate === 'late') this.#late.push(row);
      const committed = ['ok', 'lost-committed', 'crash-committed'].includes(fate) ? this.add(row) : undefined;
      if (fate.startsWith('crash')) crash();
      await new Promise(setImmediate);
      if (dead) return never();
      const error = ERRORS[fate];
      if (error) throw error();
      return committed ?? never();
    };
    return { api: { list, create }, crashed };
  }
}

const living = new Set<number>();
let nextPid = 1;

/** One import, run as often as it takes; several may share a service and a state folder. */
export class FakeImport {
  readonly rows: readonly NewCategory[];
  readonly service: FakeService;
  readonly stateDir: string;
  readonly plans: ImportPlan[] = [];

  get clock(): FakeClock {
    return this.service.clock;
  }

  constructor(rows: readonly NewCategory[], service = new FakeService(), stateDir = tempDir()) {
    this.rows = rows;
    this.service = service;
    this.stateDir = stateDir;
  }

  /** The name of its journal. */
  get name(): string {
    return journalName(digestOf(this.rows));
  }

  store(): JournalStore {
    return fileJournals(this.stateDir, 'https://pets.example/v1', 'key');
  }

  /**
   * Returns how a run of a new process ended; undefined where it was killed.
   * @param judged how it judges every other process; by default as it is
   */
  async run(
    options: Partial<RunOptions> & { readonly restart?: boolean } = {},
    judged?: 'dead',
  ): Promise<RunResult | undefined> {
    const self = { pid: nextPid++, start: '1', host: 'here' };
    living.add(self.pid);
    const processes: ProcessProbe = { self, isAlive: ({ pid }) => judged ?? (living.has(pid) ? 'alive' : 'dead') };
    const { name } = this;
    const journal = new Journal(await this.store().open(name, 'run'));
    const { api, crashed } = this.service.client();
    const { signal } = new AbortController();
    try {
      const header = { version: 2, rows: this.rows.length } as const;
      await journal.acquire(header, options.restart ?? false, { clock: this.clock, signal, processes });
      const running = runImport({
        rows: this.rows,
        journal,
        categories: api,
        lookAtOthers: () => otherImports(this.store(), name, processes),
        clock: this.clock,
        signal,
        concurrency: 4,
        maxRetries: 2,
        timeoutMs: 30_000,
        skipExisting: false,
        onPlan: async (plan) => void this.plans.push(plan),
        onProgress: () => undefined,
        ...options,
      });
      const result = await Promise.race([running, crashed]);
      if (result === 'crashed') return undefined;
      await journal.close();
      return result;
    } finally {
      living.delete(self.pid);
    }
  }
}

export function named(...names: string[]): NewCategory[] {
  return names.map((name) => ({ name }));
}
