// One run of an import (docs/import.md): list, send what is missing, look up what is uncertain, and again until nothing is left.
import type { Category, NewCategory } from '../api/types.ts';
import { PetstoreError, toPetstoreError } from '../errors.ts';
import type { Stop } from './import-error.ts';
import { changedName, classifyError, listLacks, noValidResponse, possibleDuplicates } from './import-error.ts';
import type { Fetched, ListOptions } from './list.ts';
import { fetchList, firstList, keyOf, matchRows, nearestOf, tooOften } from './list.ts';
import type { Lock } from './lock.ts';
import { DRAIN_MS } from './lock.ts';
import { ImportResults } from './results.ts';

/** How long a create may be on its way after its response was lost. */
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
  readonly onProgress: (results: ImportResults) => void;
}

export interface RunResult {
  readonly results: ImportResults;
  /** Why the run ended before every row was done. */
  readonly stop: Stop | undefined;
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
  /** How often each row was sent. */
  readonly #sent = new Map<number, number>();
  #first: readonly Category[] = [];
  /** The last list after the first one. */
  #last: Fetched | undefined;
  /** The keys of all categories that lists and responses have shown. */
  readonly #known = new Set<string>();
  /** The rows that exist, by the keys of their categories. */
  readonly #rowOf = new Map<string, number>();
  stop: Stop | undefined;
  /** Aborted by a stop: rows that wait for the rate limit are not sent. */
  readonly #stopped = new AbortController();

  constructor(options: RunOptions) {
    this.#options = options;
    this.results = new ImportResults(options.rows);
  }

  /** The first stop counts, unless another import would create rows twice after this one. */
  end(error: unknown, isUnsafe = false): void {
    if (!this.stop || (isUnsafe && !this.stop.isUnsafe)) this.stop = { error: toPetstoreError(error), isUnsafe };
    this.#stopped.abort(new PetstoreError('interrupted', 'the import was stopped'));
  }

  async begin(): Promise<void> {
    const { lock, pause, onProgress } = this.#options;
    await pause(lock.drainMs, 'requests');
    this.#first = await firstList(this.#options, this.#known);
    this.#findRows(this.#first);
    onProgress(this.results);
  }

  /** Sends and looks up in turn, until no row is left to send. */
  async createAll(): Promise<void> {
    while (this.results.pending > 0) {
      const isBroken = await this.#sendMissing();
      if (this.stop && !this.stop.isUnsafe) return;
      if (this.results.counts.unknown > 0) await this.#lookUp();
      if (this.stop) return;
      // The rows that stay unknown were sent `maxRetries` times more.
      if (isBroken && this.results.counts.unknown > 0) return this.end(noValidResponse());
    }
  }

  /** Checks in a last list that every created category exists exactly once. */
  async checkLastList(): Promise<void> {
    if (this.stop) return;
    if (this.results.counts.created > 0 && this.#options.hasQuota()) {
      await this.#list(true).catch((error: unknown) => {
        if (error instanceof PetstoreError && error.kind === 'interrupted') throw error;
      });
    }
    if (!this.#last) return;
    const { listed, lacking } = this.#last;
    const names = [...this.#sent.keys()].map((row) => this.#row(row).name);
    const twice = tooOften(names, listed, this.#options.rows, this.#first);
    if (twice.length > 0) return this.end(possibleDuplicates(twice), true);
    const created = lacking.filter((key) => this.#createdAs(key) !== undefined);
    if (created.length > 0) this.end(listLacks(created.length, true), true);
    else if (lacking.length > 0 && this.results.counts.unknown > 0) this.end(listLacks(lacking.length, false), true);
  }

  // Sends rows with several workers. Returns true after so many lost responses in a row that a lookup must come first.
  async #sendMissing(): Promise<boolean> {
    const { concurrency, onProgress } = this.#options;
    const rows = this.results.rowsIn(undefined).values();
    let lostInARow = 0;
    const isBroken = (): boolean => lostInARow >= Math.max(concurrency, LEAST_LOST);
    const worker = async (): Promise<void> => {
      // The workers share one iterator.
      while (!this.stop && !isBroken()) {
        const { value: row, done } = rows.next();
        if (done) return;
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
      return this.#acceptCreated(
        row,
        await categories.create(this.#row(row), () => lock.assertHeld(), this.#stopped.signal),
      );
    } catch (error) {
      const { means, isFatal } = classifyError(error);
      if (isFatal) this.end(error);
      if (means === 'rejected') this.results.set(row, { state: 'failed', error: toPetstoreError(error) });
      if (means === 'rejected' || means === 'unsent') return true;
      return this.#doubt(row, { lost: LOST_MS, slow: Math.max(LOST_MS, timeoutMs), aborted: DRAIN_MS }[means]);
    }
  }

  #acceptCreated(row: number, category: Category): boolean {
    const key = keyOf(category);
    // A category that existed before, or that two responses name, proves nothing.
    if (this.#known.has(key)) {
      const other = this.#createdAs(key);
      if (other !== undefined) {
        this.#rowOf.delete(key);
        this.#doubt(other, LOST_MS);
      }
      return this.#doubt(row, LOST_MS);
    }
    this.#known.add(key);
    this.#assign(row, category);
    return true;
  }

  // A list can tell `ms` from now.
  #doubt(row: number, ms: number): false {
    this.results.set(row, { state: 'unknown' });
    this.#options.lock.extendDrain(ms);
    return false;
  }

  // Looks up every uncertain row; rows that a complete list lacks are pending again, up to `maxRetries` times.
  async #lookUp(): Promise<void> {
    const { lock, pause, maxRetries, onProgress } = this.#options;
    await pause(lock.drainMs, 'requests');
    const { listed, isComplete } = await this.#list();
    // Even an incomplete list shows what exists.
    const before = new Set(this.#first.map(keyOf));
    const unexplained = this.#findRows(listed).filter((one) => !before.has(keyOf(one)));
    const nearest = nearestOf(unexplained);
    for (const row of this.results.rowsIn('unknown')) {
      const maybe = nearest(this.#row(row).name);
      const isMissing = isComplete && !maybe && (this.#sent.get(row) ?? 0) <= maxRetries;
      this.results.set(row, isMissing ? undefined : { state: 'unknown', maybe });
    }
    onProgress(this.results);
  }

  async #list(once = false): Promise<Fetched> {
    this.#last = await fetchList(this.#options, this.#known, once);
    // A service may change a name although its response showed the name that was sent.
    for (const category of this.#last.listed) {
      const row = this.#createdAs(keyOf(category));
      if (row !== undefined) this.#checkName(row, category);
    }
    return this.#last;
  }

  // Marks the rows that a list shows, and returns the categories that no row has.
  #findRows(listed: readonly Category[]): Category[] {
    const open = [...this.results.rowsIn('unknown'), ...this.results.rowsIn(undefined)];
    const isFree = (category: Category): boolean => !this.#rowOf.has(keyOf(category));
    const found = matchRows(this.#options.rows, open, listed.filter(isFree));
    for (const [row, category] of found) this.#assign(row, category);
    return listed.filter(isFree);
  }

  #assign(row: number, category: Category): void {
    this.#rowOf.set(keyOf(category), row);
    this.results.set(row, { state: this.#sent.has(row) ? 'created' : 'exists', category });
    this.#checkName(row, category);
  }

  #checkName(row: number, category: Category): void {
    const { name } = this.#row(row);
    if (category.name !== name) this.end(changedName(name, category.name), true);
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
