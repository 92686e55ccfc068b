// What is left to do in one run, shared by the workers that send rows and the look-up that decides unknown ones.
import type { Api, Category, NewCategory } from '../api/types.ts';
import type { Clock } from '../clock.ts';
import { PetstoreError } from '../errors.ts';
import type { Journal } from './journal.ts';
import { idOf } from './journal-state.ts';
import type { OtherImports } from './other-journals.ts';
import { ImportResults } from './results.ts';

/** What a run is about to do. */
export interface ImportPlan {
  /** How many rows are to be sent. */
  readonly send: number;
  /** How many of them have a name that exists already. */
  readonly existing: number;
  /** How many rows earlier runs created. */
  readonly resumed: number;
}

export interface RunOptions {
  readonly rows: readonly NewCategory[];
  /** Its lock is held by this run. */
  readonly journal: Journal;
  readonly categories: Api['categories'];
  readonly others: OtherImports;
  readonly clock: Clock;
  /** Ends the run: requests in flight finish, no new one begins. */
  readonly signal: AbortSignal;
  /** Maximum number of concurrent requests. */
  readonly concurrency: number;
  /** How often a row that a look-up did not find is sent again. */
  readonly maxRetries: number;
  /** Timeout of one attempt, milliseconds. */
  readonly timeoutMs: number;
  readonly skipExisting: boolean;
  /** Called once, before the first row is sent. */
  readonly onPlan: (plan: ImportPlan) => Promise<void>;
  /** Called after every result. */
  readonly onProgress: (results: ImportResults) => void;
}

/** A row by its number from 0. */
export interface NumberedRow extends NewCategory {
  readonly row: number;
}

/** The state of one run; rows count from 0. */
export class ImportState {
  readonly options: RunOptions;
  readonly results: ImportResults;
  /** Rows to send, the next one last. */
  readonly queue: number[] = [];
  /** Rows that were sent again because a look-up did not find them. */
  readonly resent = new Set<number>();
  readonly #unknown = new Map<number, { readonly since: number; readonly slow: boolean }>();
  #stop: PetstoreError | undefined;

  constructor(options: RunOptions) {
    this.options = options;
    this.results = new ImportResults(options.rows);
  }

  /** Why the run ends early; undefined while it does not. */
  get stop(): PetstoreError | undefined {
    return this.#stop;
  }

  /** Ends the run; the first reason counts. */
  end(error: unknown): void {
    this.#stop ??= toPetstoreError(error);
  }

  rowAt(row: number): NumberedRow {
    return { row, ...(this.options.rows[row] as NewCategory) };
  }

  /** @param slow the attempt timed out, so the service may still be processing it */
  markUnknown(row: number, slow = false): void {
    this.results.set(row, { state: 'unknown' });
    this.#unknown.set(row, { since: this.options.clock.monotonic(), slow });
  }

  markCreated(row: number, category: Category): void {
    this.results.set(row, { state: 'created', category });
    this.#unknown.delete(row);
  }

  /** The row certainly does not exist. */
  sendAgain(row: number): void {
    this.results.set(row, undefined);
    this.#unknown.delete(row);
    this.resent.add(row);
    this.queue.push(row);
  }

  /** Follows the journal where a late 201 to an earlier run has decided a row, or taken a category that was found here. */
  adoptJournal(): void {
    for (const [row, { state, id }] of this.options.journal.state.rows) {
      const here = this.results.stateOf(row);
      if (id !== undefined && (here === 'unknown' || here === 'pending')) {
        this.results.set(row, { state: 'skipped', id: idOf(id) });
        this.#unknown.delete(row);
      } else if (state === 'unknown' && here === 'created') this.markUnknown(row);
    }
  }

  /** Leaves a row unknown for the rest of this run. */
  giveUp(row: number): void {
    this.#unknown.delete(row);
  }

  /** The rows that a look-up may still decide. */
  undecided(): NumberedRow[] {
    return [...this.#unknown.keys()].map((row) => this.rowAt(row));
  }

  /**
   * @param settleMs how long a request may be on its way after its connection is gone
   * @returns when a look-up that does not find the row is believed, on the monotonic clock
   */
  settledAt(row: number, settleMs: number): number {
    const { since, slow } = this.#unknown.get(row) ?? { since: 0, slow: false };
    return since + (slow ? Math.max(settleMs, this.options.timeoutMs) : settleMs);
  }
}

export function toPetstoreError(error: unknown): PetstoreError {
  if (error instanceof PetstoreError) return error;
  const hint = 'this is a bug in petstore; run the command again with --verbose and report the output';
  return new PetstoreError('internal', 'unexpected failure during the import', { hint, cause: error });
}
