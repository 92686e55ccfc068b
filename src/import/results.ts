// The outcome of every row of an import, and its document (docs/cli.md).
import type { Category, NewCategory } from '../api/types.ts';
import type { PetstoreError } from '../errors.ts';

/** Rows count from 1 in the documents. */
export interface RowRef {
  readonly row: number;
  readonly name: string;
}

/** A row that may or may not exist, and the category that it may be. */
export interface UnknownRow extends RowRef {
  readonly maybe?: Pick<Category, 'id' | 'name'> | undefined;
}

export interface SkippedRow extends RowRef {
  readonly id: number | bigint;
  /** The existing category has another description. */
  readonly differs?: true;
}

export interface FailedRow extends RowRef {
  readonly code?: string | undefined;
  readonly message: string;
  readonly status?: number | undefined;
}

/** Each list is in the order of the file. */
export interface ImportDocument {
  readonly created: readonly Category[];
  readonly skipped: readonly SkippedRow[];
  readonly failed: readonly FailedRow[];
  readonly unknown: readonly UnknownRow[];
  /** Rows that were not sent, or certainly not processed. */
  readonly pending: number;
}

export type Outcome =
  | { readonly state: 'exists'; readonly category: Category }
  | { readonly state: 'unknown'; readonly maybe?: UnknownRow['maybe'] }
  | { readonly state: 'created'; readonly category: Category }
  | { readonly state: 'failed'; readonly error: PetstoreError };

/** The outcomes of the rows, by zero-based index; a row without an outcome is pending. */
export class ImportResults {
  readonly rows: readonly NewCategory[];
  readonly #outcomes: (Outcome | undefined)[] = [];
  readonly #counts = { exists: 0, unknown: 0, created: 0, failed: 0 };

  constructor(rows: readonly NewCategory[]) {
    this.rows = rows;
  }

  /** @param outcome undefined: the row certainly does not exist */
  set(row: number, outcome: Outcome | undefined): void {
    const before = this.#outcomes[row];
    if (before) this.#counts[before.state]--;
    if (outcome) this.#counts[outcome.state]++;
    this.#outcomes[row] = outcome;
  }

  stateOf(row: number): Outcome['state'] | undefined {
    return this.#outcomes[row]?.state;
  }

  /** The rows in a state, in the order of the file; undefined: pending. */
  rowsIn(state: Outcome['state'] | undefined): number[] {
    return [...this.rows.keys()].filter((row) => this.stateOf(row) === state);
  }

  get created(): number {
    return this.#counts.created;
  }

  get unknown(): number {
    return this.#counts.unknown;
  }

  /** The number of rows that need no more requests. */
  get done(): number {
    const { exists, created, failed } = this.#counts;
    return exists + created + failed;
  }

  get pending(): number {
    return this.rows.length - this.done - this.unknown;
  }

  document(): ImportDocument {
    const created: Category[] = [];
    const skipped: SkippedRow[] = [];
    const failed: FailedRow[] = [];
    const unknown: UnknownRow[] = [];
    for (const [at, { name, description }] of this.rows.entries()) {
      const row = { row: at + 1, name };
      const outcome = this.#outcomes[at];
      if (outcome?.state === 'created') created.push(outcome.category);
      else if (outcome?.state === 'exists') {
        const { id, description: there = '' } = outcome.category;
        const differs = description !== undefined && description !== there;
        skipped.push({ ...row, id, ...(differs && { differs }) });
      } else if (outcome?.state === 'failed') {
        const { code, serviceMessage, message, status } = outcome.error;
        failed.push({ ...row, code, message: serviceMessage ?? message, status });
      } else if (outcome) unknown.push({ ...row, maybe: outcome.maybe });
    }
    return { created, skipped, failed, unknown, pending: this.pending };
  }
}
