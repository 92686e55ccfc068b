// What is left to do in one run, shared by the workers that send and the lookup that decides.
import type { Api, NewCategory } from '../api/types.ts';
import type { Clock } from '../clock.ts';
import { PetstoreError } from '../errors.ts';
import type { Journal } from './journal.ts';
import type { NumberedRow } from './reconcile.ts';
import { ImportResults } from './results.ts';

/** What a run is about to do. */
export interface Plan {
  /** How many rows are to be sent. */
  readonly send: number;
  /** How many of them have a name that exists already. */
  readonly existing: number;
}

/** What a run works with. */
export interface RunOptions {
  readonly rows: readonly NewCategory[];
  /** Taken by this run already. */
  readonly journal: Journal;
  readonly categories: Api['categories'];
  /** Told how many rows are still to be handed to `categories.create`. */
  readonly expect: (ahead: () => number) => void;
  /** @returns ids in digits that other imports into the same service know as theirs */
  readonly ownedElsewhere: () => ReadonlySet<string>;
  readonly clock: Clock;
  /** Ends the run: what is under way is finished, nothing new begins. */
  readonly signal: AbortSignal;
  /** Creates under way at once, at most. */
  readonly concurrency: number;
  /** How often a lost row is sent again at most, once a lookup has shown that it is not there. */
  readonly maxRetries: number;
  /** How long the service is given to answer one request, milliseconds. */
  readonly timeoutMs: number;
  readonly skipExisting: boolean;
  /** Called once, when it is known what is to be sent and before anything is created. */
  readonly onPlan: (plan: Plan) => Promise<void>;
  /** Called after every outcome. */
  readonly onProgress: (tally: ImportResults) => void;
}

/** The state of one run; rows are numbered from 0. */
export class ImportState {
  readonly options: RunOptions;
  readonly tally: ImportResults;
  /** Rows to send, the next one last. */
  readonly queue: number[] = [];
  /** Rows that are sent again, since a lookup did not find them. */
  readonly resent = new Set<number>();
  readonly #lostAt = new Map<number, { readonly at: number; readonly slow: boolean }>();
  readonly #given = new Set<number>();
  #preparing = 0;
  #stop: PetstoreError | undefined;

  /** @param options what the run works with */
  constructor(options: RunOptions) {
    this.options = options;
    this.tally = new ImportResults(options.rows);
  }

  /** @returns why the run ends early; undefined while it goes on */
  get stop(): PetstoreError | undefined {
    return this.#stop;
  }

  /** @param error why nothing more is to be sent; the first reason counts */
  end(error: unknown): void {
    this.#stop ??= toPetstoreError(error);
  }

  /** @returns how many rows are still to be sent; none once the run is to end */
  get ahead(): number {
    return this.#stop ? 0 : this.queue.length + this.#preparing;
  }

  /** @returns the next row, which counts as still to be sent until `handOver`; undefined where none is left */
  next(): number | undefined {
    const row = this.queue.pop();
    if (row !== undefined) this.#preparing++;
    return row;
  }

  /** Called for every row of `next`, when it is sent or known not to be. */
  handOver(): void {
    this.#preparing--;
  }

  /**
   * @param row whose answer is lost from now on
   * @param slow whether it was given up because it took too long
   */
  lose(row: number, slow = false): void {
    this.tally.lose(row);
    this.#lostAt.set(row, { at: this.options.clock.monotonic(), slow });
  }

  /** @param row which no further lookup will decide in this run */
  giveUp(row: number): void {
    this.#given.add(row);
  }

  /** @param row which is certainly not there */
  sendAgain(row: number): void {
    this.tally.reopen(row);
    this.resent.add(row);
    this.queue.push(row);
  }

  /** @returns the lost rows that a lookup may still decide */
  undecided(): NumberedRow[] {
    const { rows } = this.options;
    return [...this.tally.lost]
      .filter((row) => !this.#given.has(row))
      .map((row) => ({ row, ...(rows[row] as NewCategory) }));
  }

  /**
   * @param row a lost row
   * @param settleMs how long a request may be on its way when its connection is gone
   * @returns when a lookup that does not find it is believed, in milliseconds on the steady clock
   */
  settledAt(row: number, settleMs: number): number {
    const { at, slow } = this.#lostAt.get(row) ?? { at: 0, slow: false };
    return at + (slow ? Math.max(settleMs, this.options.timeoutMs) : settleMs);
  }
}

/**
 * @param error anything thrown
 * @returns the same where it can be told to a user, else a fault of this program
 */
export function toPetstoreError(error: unknown): PetstoreError {
  if (error instanceof PetstoreError) return error;
  const hint = 'this is a fault of petstore itself: run it again with --verbose and report what it prints';
  return new PetstoreError('internal', 'unexpected failure inside the import', { hint, cause: error });
}
