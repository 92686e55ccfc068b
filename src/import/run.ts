// One run of an import (docs/import.md): list, send, look up what is uncertain, and again until nothing is left to send.
import type { Category, NewCategory } from '../api/types.ts';
import { PetstoreError } from '../errors.ts';
import {
  changedName,
  classifyError,
  listLacks,
  noValidResponse,
  perhapsTwice,
  toPetstoreError,
} from './import-error.ts';
import type { Fetched, ListOptions } from './list.ts';
import { fetchList, firstList, isAlike, keyOf, matchRows, nearest, tooOften } from './list.ts';
import type { Lock } from './lock.ts';
import { ABANDONED_MS } from './lock.ts';
import { ImportResults } from './results.ts';

/** How long a create may be on its way after its response was lost; after a timeout, `--timeout` counts if it is longer. */
const LOST_MS = 2000;
/** More lost responses in a row than workers, or this many, mean that the service is not well. */
const LEAST_LOST = 4;

export interface RunOptions extends ListOptions {
  readonly rows: readonly NewCategory[];
  readonly lock: Lock;
  readonly concurrency: number;
  /** How often a row is sent again after a list proved its absence. */
  readonly maxRetries: number;
  readonly timeoutMs: number;
  /** Whether the quota allows one more request without a wait. */
  readonly hasQuota: () => boolean;
  /** Called once, before the first row is sent; may reject to end the run. */
  readonly onPlan: (results: ImportResults) => Promise<void>;
  readonly onProgress: (results: ImportResults) => void;
}

export interface RunResult {
  readonly results: ImportResults;
  /** The error that ended the run. */
  readonly stop: PetstoreError | undefined;
}

/**
 * Creates every row that the service does not list.
 * @throws PetstoreError if nothing was sent
 */
export async function runImport(options: RunOptions): Promise<RunResult> {
  const run = new Run(options);
  if (options.rows.length === 0) return run;
  await run.begin();
  try {
    await run.createAll();
    await run.checkLastList();
  } catch (error) {
    run.end(error);
  }
  return run;
}

class Run implements RunResult {
  readonly results: ImportResults;
  readonly #options: RunOptions;
  /** Rows to send; the last element is the next one. */
  #queue: number[];
  /** How often each row was sent. */
  readonly #sent = new Map<number, number>();
  /** Rows to look up. */
  readonly #doubtful = new Set<number>();
  #first: readonly Category[] = [];
  /** The last list after the first one. */
  #last: Fetched | undefined;
  /** True if a category was created after the last list. */
  #isUnlisted = false;
  /** The keys of all categories that lists and responses have shown. */
  readonly #known = new Set<string>();
  /** The rows that exist, by the keys of their categories. */
  readonly #rowOf = new Map<string, number>();
  /** The service changes names: nothing more is sent. */
  #changed: PetstoreError | undefined;
  #stop: PetstoreError | undefined;

  constructor(options: RunOptions) {
    this.#options = options;
    this.results = new ImportResults(options.rows);
    this.#queue = [...options.rows.keys()].reverse();
  }

  /** A changed name comes first, because another import would create the row twice. */
  get stop(): PetstoreError | undefined {
    return this.#changed ?? this.#stop;
  }

  end(error: unknown): void {
    this.#stop ??= toPetstoreError(error);
  }

  async begin(): Promise<void> {
    const { lock, signal, onPlan, onProgress } = this.#options;
    await lock.settle(signal);
    this.#first = await firstList(this.#options);
    for (const category of this.#first) this.#known.add(keyOf(category));
    this.#findRows(this.#first);
    await onPlan(this.results);
    onProgress(this.results);
  }

  /** Alternates between sending and looking up, until no row is left to send. */
  async createAll(): Promise<void> {
    while (this.#queue.length > 0) {
      const isBroken = await this.#sendQueue();
      if (this.#stop) return;
      await this.#lookUp();
      if (this.#changed) return;
      // The rows that stay unknown were sent `maxRetries` times more.
      if (isBroken && this.results.unknown > 0) throw noValidResponse();
    }
  }

  /** Checks in a last list that every created category is there, and none twice. */
  async checkLastList(): Promise<void> {
    if (this.stop) return;
    if (this.#isUnlisted && this.#options.hasQuota()) {
      await this.#list().catch((error: unknown) => {
        if (error instanceof PetstoreError && error.kind === 'interrupted') throw error;
      });
    }
    if (!this.#last) return;
    const { listed, lacking, fromCache } = this.#last;
    const names = [...this.#sent.keys()].map((row) => this.#row(row).name);
    const twice = tooOften(names, listed, this.#options.rows, this.#first);
    if (twice.length > 0) throw perhapsTwice(twice);
    if (fromCache) return;
    const created = lacking.filter((key) => this.#createdAs(key) !== undefined);
    if (created.length > 0) throw listLacks(created.length, 'just created');
    if (lacking.length > 0 && this.results.unknown > 0) throw listLacks(lacking.length, 'listed before');
  }

  // Sends rows with several workers. Returns true after so many lost responses in a row that a lookup must come first.
  async #sendQueue(): Promise<boolean> {
    const { concurrency, onProgress } = this.#options;
    let lostInARow = 0;
    const isBroken = (): boolean => lostInARow >= Math.max(concurrency, LEAST_LOST);
    const worker = async (): Promise<void> => {
      while (!this.stop && !isBroken()) {
        const row = this.#queue.pop();
        if (row === undefined) return;
        lostInARow = (await this.#send(row)) ? 0 : lostInARow + 1;
        onProgress(this.results);
      }
    };
    await Promise.all(Array.from({ length: concurrency }, worker));
    return isBroken();
  }

  // Returns false if the row is now uncertain.
  async #send(row: number): Promise<boolean> {
    const { lock, categories, timeoutMs } = this.#options;
    this.#sent.set(row, 1 + (this.#sent.get(row) ?? 0));
    try {
      return this.#settleCreated(row, await categories.create(this.#row(row), () => lock.assertHeld()));
    } catch (error) {
      const { means, stop } = classifyError(error);
      if (stop) this.end(error);
      if (means === 'rejected') this.results.set(row, { state: 'failed', error: toPetstoreError(error) });
      if (means === 'rejected' || means === 'unsent') return true;
      const ms = { lost: LOST_MS, slow: Math.max(LOST_MS, timeoutMs), aborted: ABANDONED_MS }[means];
      return this.#doubt(row, ms);
    }
  }

  #settleCreated(row: number, category: Category): boolean {
    const key = keyOf(category);
    const isKnown = this.#known.has(key);
    this.#known.add(key);
    // A category that existed before, or that two responses name, proves nothing; nor does one of quite another name.
    if (isKnown || !isAlike(this.#row(row).name, category.name)) {
      const other = this.#createdAs(key);
      if (other !== undefined) {
        this.#rowOf.delete(key);
        this.#doubt(other, LOST_MS);
      }
      return this.#doubt(row, LOST_MS);
    }
    this.#assign(row, category);
    this.#isUnlisted = true;
    return true;
  }

  // The next list that can tell comes after `ms`.
  #doubt(row: number, ms: number): false {
    this.results.set(row, { state: 'unknown' });
    this.#doubtful.add(row);
    this.#options.lock.mayArrive(ms);
    return false;
  }

  // Looks up every uncertain row; rows that do not exist are queued again, up to `maxRetries` times.
  async #lookUp(): Promise<void> {
    const { lock, signal, maxRetries, onProgress } = this.#options;
    if (this.#doubtful.size === 0) return;
    await lock.settle(signal);
    const { listed, isWhole } = await this.#list();
    // Even a list that is not whole shows what exists.
    this.#findRows(listed);
    const before = new Set(this.#first.map(keyOf));
    const unexplained = this.#free(listed).filter((one) => !before.has(keyOf(one)));
    for (const row of this.#doubtful) {
      if (this.results.stateOf(row) !== 'unknown') continue;
      const maybe = nearest(this.#row(row).name, unexplained);
      const isQueued = isWhole && !maybe && (this.#sent.get(row) ?? 0) <= maxRetries;
      if (isQueued) this.#queue.push(row);
      this.results.set(row, isQueued ? undefined : { state: 'unknown', maybe });
    }
    this.#doubtful.clear();
    onProgress(this.results);
  }

  async #list(): Promise<Fetched> {
    this.#last = await fetchList(this.#options, this.#known);
    this.#isUnlisted = false;
    // A service may change a name although its response showed the name that was sent.
    for (const category of this.#last.listed) {
      const row = this.#createdAs(keyOf(category));
      if (row !== undefined) this.#checkName(row, category);
    }
    return this.#last;
  }

  // Marks the rows that a list shows.
  #findRows(listed: readonly Category[]): void {
    const open = [...this.results.uncertain(), ...this.#queue.toReversed()];
    const found = matchRows(this.#options.rows, open, this.#free(listed));
    for (const [row, category] of found) this.#assign(row, category);
    this.#queue = this.#queue.filter((row) => !found.has(row));
  }

  // The categories that no row has.
  #free(listed: readonly Category[]): Category[] {
    return listed.filter((one) => !this.#rowOf.has(keyOf(one)));
  }

  #assign(row: number, category: Category): void {
    this.#rowOf.set(keyOf(category), row);
    this.results.set(row, { state: this.#sent.has(row) ? 'created' : 'exists', category });
    this.#checkName(row, category);
  }

  #checkName(row: number, category: Category): void {
    const { name } = this.#row(row);
    if (category.name !== name) this.#changed ??= changedName(name, category.name);
  }

  // The row that this run created as the category with this key.
  #createdAs(key: string): number | undefined {
    const row = this.#rowOf.get(key);
    return row !== undefined && this.results.stateOf(row) === 'created' ? row : undefined;
  }

  #row(row: number): NewCategory {
    return this.#options.rows[row] as NewCategory;
  }
}
