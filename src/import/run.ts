// One run of an import (docs/import.md): list, send the missing names, look up the uncertain ones, and repeat.
import { setMaxListeners } from 'node:events';
import { PetstoreError, toPetstoreError } from '../errors.ts';
import type { Category, ImportProgress, NewCategory } from '../public-types.ts';
import type { Stop } from './import-error.ts';
import {
  changedNameError,
  classifyError,
  incompleteListError,
  noValidResponseError,
  possibleDuplicatesError,
} from './import-error.ts';
import type { FetchedList, FetchListOptions } from './list.ts';
import { fetchFirstList, fetchList, KnownCategories } from './list.ts';
import type { Lock, LockOptions } from './lock.ts';
import { DRAIN_MS } from './lock.ts';
import type { ImportEntry } from './results.ts';
import { ImportResults } from './results.ts';

/** How long a create may be in flight after its response was lost, in milliseconds. */
const LOST_MS = 2000;
/** As many lost responses in a row as workers, but at least this many, mean that the service has a problem. */
const LEAST_LOST = 4;

export interface RunOptions extends FetchListOptions, LockOptions {
  readonly rows: readonly NewCategory[];
  /** Closed by the caller. */
  readonly lock: Lock;
  readonly concurrency: number;
  /** The maximum number of times that a name is sent again after a list proved its absence. */
  readonly maxRetries: number;
  readonly timeoutMs: number;
  readonly onProgress: (progress: ImportProgress) => void;
}

export interface RunResult {
  readonly results: ImportResults;
  /** Why the run ended before every row was done. */
  readonly stop: Stop | undefined;
}

/**
 * Creates a category for each name that the service does not list.
 * @throws PetstoreError before a create is sent; later errors are in `stop`
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
  #known = new KnownCategories();
  /** The owners of known categories that the latest list lacked. */
  #missing: FetchedList['missing'] = [];
  stop: Stop | undefined;
  readonly #stopped = new AbortController();
  /** Aborted by a stop or by the caller: rows that wait for the rate limit are not sent. */
  readonly #waitSignal: AbortSignal;

  constructor(options: RunOptions) {
    this.#options = options;
    this.#waitSignal = AbortSignal.any([options.signal, this.#stopped.signal]);
    // Each row that waits listens to this signal, which is not a leak.
    setMaxListeners(0, this.#waitSignal);
    this.results = new ImportResults(options.rows);
  }

  /** Keeps the first stop, unless a later one means that another import may create categories twice. */
  end(error: unknown, rerunUnsafe = false): void {
    if (!this.stop || (rerunUnsafe && !this.stop.rerunUnsafe))
      this.stop = { error: toPetstoreError(error), rerunUnsafe };
    this.#stopped.abort(new PetstoreError('interrupted', 'the import was stopped'));
  }

  /** Takes the lock and fetches the first list; repeats both if another run turns out to hold the lock. */
  async begin(): Promise<void> {
    const { lock, pause, onProgress } = this.#options;
    do {
      await lock.acquire(this.#options);
      const listed = await fetchFirstList(this.#options);
      this.#known = new KnownCategories();
      for (const category of listed) this.#known.add(category, false);
      this.#read(listed);
      onProgress(this.results.progress);
    } while (this.results.progress.pending > 0 && !(await lock.confirm(pause)));
  }

  /** Sends and looks up in turn, until no name is left to send. */
  async createAll(): Promise<void> {
    while (this.results.progress.pending > 0) {
      const isBroken = await this.#sendMissing();
      if (this.stop && !this.stop.rerunUnsafe) return;
      if (this.results.progress.unknown > 0) await this.#lookUp();
      if (this.stop) return;
      // If names are still unknown after a lookup, sending more names would leave more of them unknown.
      if (isBroken && this.results.progress.unknown > 0) return this.end(noValidResponseError());
    }
  }

  /** Checks in a last list that every created category exists exactly once. */
  async checkLastList(): Promise<void> {
    if (this.stop) return;
    if (this.results.progress.created > 0) {
      await this.#list(true).catch((error: unknown) => {
        if (error instanceof PetstoreError && error.kind === 'interrupted') throw error;
      });
    }
    const missing = this.#missing;
    const twice = this.results.unexplained.filter(({ name }) => isCreated(this.results.get(name)));
    if (twice.length > 0) return this.end(possibleDuplicatesError([...new Set(twice.map(({ name }) => name))]), true);
    const created = missing.filter(isCreated);
    if (created.length > 0) this.end(incompleteListError(created.length, true), true);
    else if (missing.length > 0 && this.results.progress.unknown > 0)
      this.end(incompleteListError(missing.length, false), true);
  }

  // Sends names with several workers. Returns true after so many lost responses in a row that a lookup must come first.
  async #sendMissing(): Promise<boolean> {
    const { concurrency, onProgress } = this.#options;
    const entries = this.results.in(undefined).values();
    let lostInARow = 0;
    const isBroken = (): boolean => lostInARow >= Math.max(concurrency, LEAST_LOST);
    const worker = async (): Promise<void> => {
      // The workers share one iterator.
      while (!this.stop && !isBroken()) {
        const { value: entry, done } = entries.next();
        if (done) return;
        lostInARow = (await this.#send(entry)) ? 0 : lostInARow + 1;
        onProgress(this.results.progress);
      }
    };
    await Promise.all(Array.from({ length: concurrency }, worker));
    return isBroken();
  }

  // Returns false if the name is now uncertain.
  async #send(entry: ImportEntry): Promise<boolean> {
    const { lock, categories, timeoutMs } = this.#options;
    entry.sent++;
    try {
      const category = await categories.create(entry.row, () => lock.assertHeld(), this.#waitSignal);
      // A category that existed before, or that another response has named, proves nothing.
      if (this.#known.has(category))
        return this.#markUncertain(entry, LOST_MS, 'the response has the id of another category');
      this.#assign(entry, category);
      return true;
    } catch (error) {
      const { outcome, isFatal } = classifyError(error);
      if (isFatal) this.end(error);
      // If another client creates the category meanwhile, the row is skipped, since it was not sent.
      if (outcome === 'unsent') entry.sent--;
      if (outcome === 'rejected') this.results.set(entry, { state: 'failed', error: toPetstoreError(error) });
      if (outcome === 'rejected' || outcome === 'unsent') return true;
      const drainMs = { lost: LOST_MS, slow: Math.max(LOST_MS, timeoutMs), aborted: DRAIN_MS }[outcome];
      return this.#markUncertain(entry, drainMs, error instanceof PetstoreError ? error.details.problem : undefined);
    }
  }

  // A list is conclusive after `drainMs`.
  #markUncertain(entry: ImportEntry, drainMs: number, reason: string | undefined): false {
    this.results.set(entry, { state: 'unknown', reason });
    this.#options.lock.extendDrain(drainMs);
    return false;
  }

  // Looks up every uncertain name; those that a complete list lacks are pending again, up to `maxRetries` times.
  async #lookUp(): Promise<void> {
    const { lock, pause, maxRetries, onProgress } = this.#options;
    await pause(lock.drainMs, 'requests');
    const { isComplete } = await this.#list();
    for (const entry of this.results.in('unknown')) {
      // An unexplained category may belong to this name.
      const isAbsent = isComplete && this.results.unexplained.length === 0;
      if (isAbsent && entry.sent <= maxRetries) this.results.set(entry, undefined);
    }
    onProgress(this.results.progress);
  }

  async #list(once = false): Promise<FetchedList> {
    const fetched = await fetchList(this.#options, this.#known, once);
    // Even an incomplete list shows that its categories exist.
    this.#read(fetched.listed);
    this.results.unexplained = fetched.listed.filter((category) => this.#known.isUnexplained(category));
    this.#missing = fetched.missing;
    return fetched;
  }

  // Marks the names that a list shows.
  #read(listed: readonly Category[]): void {
    for (const category of listed) {
      const owner = this.#known.ownerOf(category);
      // A service may change a name although its response showed the name that was sent.
      if (isCreated(owner)) this.#checkName(owner, category);
      const entry = this.results.get(category.name);
      const isOpen = entry && (!entry.outcome || entry.outcome.state === 'unknown');
      if (isOpen && !owner) this.#assign(entry, category);
    }
  }

  #assign(entry: ImportEntry, category: Category): void {
    this.#known.setOwner(category, entry);
    this.results.set(entry, { state: entry.sent > 0 ? 'created' : 'skipped', category });
    this.#checkName(entry, category);
  }

  #checkName({ row: { name } }: ImportEntry, category: Category): void {
    if (category.name === name) return;
    this.end(changedNameError(name, category.name, this.results.get(category.name) !== undefined), true);
  }
}

function isCreated(entry: ImportEntry | undefined): entry is ImportEntry {
  return entry?.outcome?.state === 'created';
}
