// What is left to do in one run, shared by the workers that send rows and the look-up that decides unknown ones.
import type { Api, NewCategory } from '../api/types.ts';
import type { Clock } from '../clock.ts';
import { PetstoreError } from '../errors.ts';
import type { Journal } from './journal.ts';
import type { OtherImports } from './other-journals.ts';
import { ImportResults } from './results.ts';

/** What a run is about to do, in rows. */
export interface ImportPlan {
  /** Rows to be sent. */
  readonly send: number;
  /** Those of them whose name exists already. */
  readonly existing: number;
  /** Rows that earlier runs created. */
  readonly resumed: number;
}

export interface RunOptions {
  readonly rows: readonly NewCategory[];
  /** Its lock is held by this run. */
  readonly journal: Journal;
  readonly categories: Api['categories'];
  readonly lookAtOthers: () => Promise<OtherImports>;
  readonly clock: Clock;
  /** Ends the run: requests in flight finish, no new one begins. */
  readonly signal: AbortSignal;
  readonly concurrency: number;
  /** How often a row that a look-up did not find is sent again. */
  readonly maxRetries: number;
  readonly timeoutMs: number;
  readonly skipExisting: boolean;
  /** Called once, before the first row is sent. */
  readonly onPlan: (plan: ImportPlan) => Promise<void>;
  readonly onProgress: (results: ImportResults) => void;
}

/** A row by its number from 0. */
export interface NumberedRow extends NewCategory {
  readonly row: number;
}

/** What one run does next; the states of its rows are in the journal. Rows count from 0. */
export class ImportState {
  readonly options: RunOptions;
  readonly results: ImportResults;
  /** Rows to send, the next one last. */
  queue: number[] = [];
  /** Rows that were sent again because a look-up did not find them. */
  readonly resent = new Set<number>();
  /** Rows that stay unknown for the rest of this run. */
  readonly givenUp = new Set<number>();
  readonly #startedAt: number;
  readonly #lostAt = new Map<number, number>();
  #stop: PetstoreError | undefined;

  constructor(options: RunOptions) {
    this.options = options;
    this.results = new ImportResults(options.rows, options.journal);
    this.#startedAt = options.clock.monotonic();
  }

  /** Why the run ends early; undefined while it does not. */
  get stop(): PetstoreError | undefined {
    return this.#stop;
  }

  /** Ends the run; the first reason counts. */
  end(error: unknown): void {
    this.#stop ??= toPetstoreError(error);
  }

  /** The rows that a look-up may still decide. */
  undecided(): NumberedRow[] {
    const { rows, journal } = this.options;
    const undecided = [...journal.state.unknown].filter((row) => !this.givenUp.has(row));
    return undecided.map((row) => ({ row, ...(rows[row] as NewCategory) }));
  }

  /** Notes that the response to a row's request was lost just now. */
  markLost(row: number): void {
    this.#lostAt.set(row, this.options.clock.monotonic());
  }

  /** When the last response to a row was lost, at the latest; on the monotonic clock. */
  lostAt(row: number): number {
    return this.#lostAt.get(row) ?? this.#startedAt;
  }

  /** The row certainly does not exist. */
  sendAgain(row: number): void {
    this.results.categories.delete(row);
    this.resent.add(row);
    this.queue.push(row);
  }
}

export function toPetstoreError(error: unknown): PetstoreError {
  if (error instanceof PetstoreError) return error;
  const hint = 'this is a bug in petstore; run the command again with --verbose and report the output';
  return new PetstoreError('internal', 'unexpected failure during the import', { hint, cause: error });
}
