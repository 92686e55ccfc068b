// One run of an import (docs/import.md): fetches a list, sends the missing rows, and looks up the uncertain ones.
import type { Api, Category, NewCategory } from '../api/types.ts';
import type { Clock } from '../clock.ts';
import { sleepLong } from '../clock.ts';
import { PetstoreError } from '../errors.ts';
import { formatCount } from '../format.ts';
import { checkConnection } from '../http/request-errors.ts';
import { statusTraits } from '../http/retry.ts';
import type { Journal } from './journal.ts';
import type { Account } from './journal-state.ts';
import { newAccount } from './journal-state.ts';
import type { Gap } from './list-proof.ts';
import {
  accountOf,
  findRows,
  gapOf,
  isAlike,
  labeled,
  matchUncertain,
  missingFrom,
  nearest,
  settledCreations,
} from './list-proof.ts';
import { ImportResults } from './results.ts';
import { quoted } from './validate-row.ts';

/** How long a request may be on its way after its response was lost; after a timeout, `--timeout` counts if it is longer. */
const SETTLE_MS = 2000;
/** The same for requests of an earlier run, from the start of this one: no process saw their connections end. */
const SETTLE_EARLIER_RUN_MS = 10_000;
const MOST_NAMED = 5;
/** How often an incomplete list is fetched again. */
const LIST_RETRIES = 2;

export interface ListOptions {
  readonly rows: readonly NewCategory[];
  readonly categories: Api['categories'];
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** True: categories that the list lacks were deleted on purpose. */
  readonly trustList: boolean;
}

export interface RunOptions extends ListOptions {
  readonly journal: Journal;
  readonly concurrency: number;
  /** How often a row is resent after a list proved its absence. */
  readonly maxRetries: number;
  readonly timeoutMs: number;
  /** Called once, before the first row is sent; may reject to end the run. */
  readonly onPlan: (results: ImportResults) => Promise<void>;
  readonly onProgress: (results: ImportResults) => void;
}

export interface RunResult {
  readonly results: ImportResults;
  /** The error that ended the run early. */
  readonly stop: PetstoreError | undefined;
}

/** The first list of a run and the account that it shows. */
interface FirstList {
  readonly listed: readonly Category[];
  /** The number of accounts if the account is new. */
  readonly index: number;
  readonly account: Account;
  /** The categories that the list lacks; only with `trustList`. */
  readonly gap: Gap | undefined;
}

/**
 * Creates every row that the service does not list.
 * @throws PetstoreError if nothing was sent
 */
export async function runImport(options: RunOptions): Promise<RunResult> {
  const run = new Run(options);
  if (options.rows.length === 0) return { results: run.results, stop: undefined };
  await run.begin();
  try {
    await run.sendAll();
    await run.checkResent();
  } catch (error) {
    run.end(error);
  }
  return { results: run.results, stop: run.stop };
}

/**
 * Fetches the first list of a run, which decides which rows are missing.
 * @throws PetstoreError `service` if the list is cached or incomplete
 */
export async function firstList(options: ListOptions, accounts: readonly Account[]): Promise<FirstList> {
  const { rows, categories, clock, signal, trustList } = options;
  for (let retries = 0, at = -1; ; retries++) {
    const { listed, fromCache } = await categories.listFresh();
    // An empty list after one that showed an account is a stale list of that account.
    if (listed.length > 0 || at < 0) at = accountOf(accounts, listed);
    const gap = gapOf(accounts, at, listed, rows);
    // An empty list may be stale; a list of other categories is another account's.
    const isSure = at >= 0 || listed.length > 0 || retries === LIST_RETRIES;
    if (trustList || (!fromCache && !gap && isSure)) {
      return { listed, index: at < 0 ? accounts.length : at, account: accounts[at] ?? newAccount(), gap };
    }
    if (retries === LIST_RETRIES) throw notWhole(gap);
    await sleepLong(clock, SETTLE_MS * 2 ** retries, signal);
  }
}

function notWhole(gap: Gap | undefined): PetstoreError {
  const problem = (message: string, hint: string): PetstoreError =>
    new PetstoreError('service', `cannot tell which rows are missing: ${message}`, { hint });
  if (!gap) return problem('the list of categories comes from a cache', 'run the same command again later');
  if (gap.renamed) {
    return problem(
      'categories that petstore created are listed under other names',
      'compare the names in the file with the list of categories',
    );
  }
  const lacking = formatCount(gap.lacking.length, 'category', 'categories');
  return problem(`the list lacks ${lacking} that existed before`, 'run the same command again later');
}

class Run {
  readonly results: ImportResults;
  readonly #options: RunOptions;
  readonly #startedAt: number;
  /** Rows to send; the last element is the next one. */
  #queue: number[] = [];
  /** When the latest request of a row can no longer be on its way, by the monotonic clock. */
  readonly #settledAt = new Map<number, number>();
  readonly #resends = new Map<number, number>();
  /** Rows that stay unknown for the rest of this run. */
  readonly #givenUp = new Set<number>();
  /** The ids of the first list, which every complete list contains. */
  #first: readonly string[] = [];
  /** The ids in responses: they exist, whichever create made them. */
  readonly #named = new Set<string>();
  #stop: PetstoreError | undefined;

  constructor(options: RunOptions) {
    this.#options = options;
    this.#startedAt = options.clock.monotonic();
    this.results = new ImportResults(options.rows);
  }

  get stop(): PetstoreError | undefined {
    return this.#stop;
  }

  end(error: unknown): void {
    this.#stop ??= toPetstoreError(error);
  }

  /** Determines the missing rows, and records all existing categories so that later ones count as new. */
  async begin(): Promise<void> {
    const { rows, journal, onPlan, onProgress } = this.#options;
    const { listed, index, gap } = await firstList(this.#options, journal.accounts);
    this.#first = listed.map(({ id }) => String(id));
    await journal.restoreLost();
    await journal.useAccount(index);
    if (gap) await journal.recordDeleted(gap.lacking);
    for (const [attempt, category] of matchUncertain(journal.account, listed).found) {
      await journal.recordFound(attempt, labeled(category));
    }
    this.#queue = this.results.add(findRows(rows, journal.account, listed)).reverse();
    await onPlan(this.results);
    await journal.recordKnown(listed.map(labeled));
    await journal.recordSettled(settledCreations(journal.account, listed));
    onProgress(this.results);
  }

  /** Alternates between sending and looking up, until no row is left to send. */
  async sendAll(): Promise<void> {
    const { maxRetries } = this.#options;
    for (let withoutProgress = 0; !this.#stop; ) {
      const before = this.results.created;
      const isBroken = await this.#sendQueue();
      if (this.#stop) return;
      await this.#lookUp();
      if (this.#queue.length === 0) return;
      withoutProgress = isBroken && this.results.created === before ? withoutProgress + 1 : 0;
      if (withoutProgress > maxRetries) this.end(noValidResponse());
    }
  }

  /** Looks for rows that exist twice, because a request was processed after a list had proved its absence. */
  async checkResent(): Promise<void> {
    if (this.#resends.size === 0 || this.#stop) return;
    const { account } = this.#options.journal;
    const listed = await this.#wholeList().catch((error: unknown) => {
      if (error instanceof PetstoreError && error.kind === 'interrupted') throw error;
    });
    const names = [...this.#resends.keys()].map((row) => this.#row(row).name);
    if (!listed) {
      const which = [...new Set(names)].slice(0, MOST_NAMED).map(quoted).join(', ');
      throw new PetstoreError('unknown_outcome', `cannot check whether resent rows exist twice: ${which}`, {
        hint: 'compare the list of categories with the file',
      });
    }
    const isNew = ({ id }: Category): boolean => !account.known.has(String(id)) && !account.created.has(String(id));
    const late = listed.filter((one) => isNew(one) && names.some((name) => isAlike(name, one.name)));
    if (late.length === 0) return;
    const which = late.slice(0, MOST_NAMED).map(({ id, name }) => `${quoted(name)} (id ${id})`);
    throw new PetstoreError('unknown_outcome', `resent rows may exist twice: ${which.join(', ')}`, {
      hint: 'compare the list of categories with the file',
    });
  }

  // Sends rows with several workers. Returns true after so many lost responses in a row that a lookup must come first.
  async #sendQueue(): Promise<boolean> {
    const { concurrency, onProgress } = this.#options;
    let lostInARow = 0;
    const isBroken = (): boolean => lostInARow >= Math.max(concurrency, 4);
    const worker = async (): Promise<void> => {
      while (!this.#stop && !isBroken()) {
        const row = this.#queue.pop();
        if (row === undefined) return;
        try {
          lostInARow = (await this.#send(row)) ? 0 : lostInARow + 1;
        } catch (error) {
          this.end(error);
        }
        onProgress(this.results);
      }
    };
    await Promise.all(Array.from({ length: concurrency }, worker));
    return isBroken();
  }

  // Returns false if the outcome is now uncertain.
  async #send(row: number): Promise<boolean> {
    const { journal, signal, categories, timeoutMs } = this.#options;
    signal.throwIfAborted();
    const attempt = await journal.recordSend(this.#row(row).name);
    this.results.set(row, { state: 'sending', attempt });
    try {
      signal.throwIfAborted();
      const category = await categories.create(this.#row(row), () => journal.assertHeld());
      return await this.#settleCreated(row, attempt, category);
    } catch (error) {
      const { means, stop } = classifyError(error);
      if (stop) this.end(error);
      if (means === 'rejected') this.results.set(row, { state: 'failed', error: toPetstoreError(error) });
      if (means === 'unsent') this.results.set(row, undefined);
      if (means === 'rejected' || means === 'unsent') {
        await journal.recordAbsent(attempt);
        return true;
      }
      this.results.set(row, { state: 'unknown', attempt });
      this.#markUncertain(row, means === 'slow' ? Math.max(SETTLE_MS, timeoutMs) : SETTLE_MS);
      if (means === 'slow') await journal.recordSlow(attempt);
      return false;
    }
  }

  async #settleCreated(row: number, attempt: string, category: Category): Promise<boolean> {
    const { journal } = this.#options;
    const id = String(category.id);
    const isTaken = this.#named.has(id) || journal.account.known.has(id);
    this.#named.add(id);
    // A response with the name of a row whose own response was lost may show that row's category.
    const isOther = category.name !== this.#row(row).name && this.#isUncertain(category.name);
    // Once a record was lost, the journal cannot tell to which create the category belongs.
    if (isOther || (isTaken && this.#stop)) {
      this.results.set(row, { state: 'unknown', attempt });
      this.#markUncertain(row, SETTLE_MS);
      return false;
    }
    this.results.set(row, { state: 'created', attempt, category });
    try {
      if (await journal.recordCreated(attempt, labeled(category))) return true;
    } catch (error) {
      // The category exists even if that cannot be recorded.
      if (isTaken) this.results.set(row, { state: 'unknown', attempt });
      this.end(error);
      return true;
    }
    const { uncertain } = journal.account;
    for (const other of this.results.withdraw((one) => uncertain.has(one))) this.#markUncertain(other, SETTLE_MS);
    return false;
  }

  #isUncertain(name: string): boolean {
    return [...this.results.uncertain()].some(([row]) => this.#row(row).name === name);
  }

  #markUncertain(row: number, settleMs: number): void {
    this.#settledAt.set(row, this.#options.clock.monotonic() + settleMs);
  }

  // Looks up every uncertain row; rows that do not exist are queued again, up to `maxRetries`.
  async #lookUp(): Promise<void> {
    const { journal, clock, signal, maxRetries, timeoutMs, onProgress } = this.#options;
    const rows = [...this.results.uncertain()].filter(([row]) => !this.#givenUp.has(row));
    if (rows.length === 0) return;
    const settledByStart = (attempt: string): number =>
      this.#startedAt +
      (journal.account.uncertain.get(attempt)?.slow
        ? Math.max(SETTLE_EARLIER_RUN_MS, timeoutMs)
        : SETTLE_EARLIER_RUN_MS);
    const settledAt = rows.map(([row, attempt]) => this.#settledAt.get(row) ?? settledByStart(attempt));
    await sleepLong(clock, settledAt.reduce((latest, at) => Math.max(latest, at)) - clock.monotonic(), signal);
    const listed = await this.#wholeList();
    await journal.restoreLost();
    const { found, suspects } = matchUncertain(journal.account, listed ?? []);
    for (const [attempt, category] of found) await journal.recordFound(attempt, labeled(category));
    for (const [row, attempt] of rows) {
      // Another record may have settled the attempt after its row was withdrawn.
      const [id] = journal.creationOf(attempt) ?? [];
      const category = found.get(attempt) ?? listed?.find((one) => String(one.id) === id);
      const resends = this.#resends.get(row) ?? 0;
      const suspect = nearest(this.#row(row).name, suspects(attempt));
      if (category) this.results.set(row, { state: 'created', attempt, category });
      else if (!listed || suspect || resends >= maxRetries) {
        this.#givenUp.add(row);
        if (suspect) this.results.set(row, { state: 'unknown', attempt, suspect });
      } else {
        await journal.recordAbsent(attempt);
        this.results.set(row, undefined);
        this.#resends.set(row, resends + 1);
        this.#queue.push(row);
      }
    }
    onProgress(this.results);
  }

  // Returns undefined if every list came from a cache, or lacks a category of the first list or one that petstore created.
  async #wholeList(): Promise<readonly Category[] | undefined> {
    const { journal, categories, clock, signal } = this.#options;
    for (let retries = 0; ; retries++) {
      journal.assertHeld();
      const { listed, fromCache } = await categories.listFresh();
      const expected = [...this.#first, ...this.#named, ...journal.account.created.keys()];
      if (!fromCache && missingFrom(expected, listed).length === 0) return listed;
      if (retries === LIST_RETRIES) return undefined;
      await sleepLong(clock, SETTLE_MS * 2 ** retries, signal);
    }
  }

  #row(row: number): NewCategory {
    return this.#options.rows[row] as NewCategory;
  }
}

function noValidResponse(): PetstoreError {
  return new PetstoreError('unknown_outcome', 'the service returned no valid response to any create', {
    commandHint: checkConnection,
  });
}

function toPetstoreError(error: unknown): PetstoreError {
  if (error instanceof PetstoreError) return error;
  const hint = 'run the command again with --verbose and report the output';
  return new PetstoreError('internal', 'unexpected failure during the import (a bug in petstore)', {
    hint,
    cause: error,
  });
}

/** The effect of a failed create on its row, and whether it ends the run because other rows would fail too. */
interface ErrorClass {
  /** `slow`: the service may still process the request. */
  readonly means: 'rejected' | 'unsent' | 'lost' | 'slow';
  readonly stop: boolean;
}

export function classifyError(error: unknown): ErrorClass {
  if (!(error instanceof PetstoreError)) return { means: 'lost', stop: true };
  const { kind, processed, status = 0 } = error;
  if (processed !== 'no') return { means: processed === 'late' ? 'slow' : 'lost', stop: kind !== 'unknown_outcome' };
  // Other rejections concern every row, such as a 403 of a firewall.
  if (kind === 'rejected') return { means: 'rejected', stop: !statusTraits(status).rowSpecific };
  return { means: 'unsent', stop: true };
}
