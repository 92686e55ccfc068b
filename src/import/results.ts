// The outcome of every row of an import, and its document (docs/cli.md).
import type { Category, NewCategory } from '../api/types.ts';
import type { PetstoreError } from '../errors.ts';

export type Outcome =
  | { readonly state: 'exists'; readonly category: Category }
  /** May or may not exist, perhaps as this category. */
  | { readonly state: 'unknown'; readonly maybe?: Pick<Category, 'id' | 'name'> | undefined }
  | { readonly state: 'created'; readonly category: Category }
  | { readonly state: 'failed'; readonly error: PetstoreError };

type OutcomeOf<State> = Outcome & { readonly state: State };

/** Rows count from 1 in the documents. */
export type NumberedRow = NewCategory & { readonly row: number };

/** The outcomes of the rows, by zero-based index; a row without an outcome is pending. */
export class ImportResults {
  readonly rows: readonly NewCategory[];
  /** The number of rows in each state. */
  readonly counts = { exists: 0, unknown: 0, created: 0, failed: 0 };
  readonly #outcomes: (Outcome | undefined)[] = [];

  constructor(rows: readonly NewCategory[]) {
    this.rows = rows;
  }

  /** @param outcome undefined: the row certainly does not exist */
  set(row: number, outcome: Outcome | undefined): void {
    const before = this.#outcomes[row];
    if (before) this.counts[before.state]--;
    if (outcome) this.counts[outcome.state]++;
    this.#outcomes[row] = outcome;
  }

  stateOf(row: number): Outcome['state'] | undefined {
    return this.#outcomes[row]?.state;
  }

  /** The rows in a state, in the order of the file; undefined: pending. */
  rowsIn(state: Outcome['state'] | undefined): number[] {
    return [...this.rows.keys()].filter((row) => this.stateOf(row) === state);
  }

  get pending(): number {
    const { exists, unknown, created, failed } = this.counts;
    return this.rows.length - exists - unknown - created - failed;
  }

  numbered(row: number): NumberedRow {
    return { row: row + 1, ...(this.rows[row] as NewCategory) };
  }

  /** Each list is in the order of the file; `pending` counts rows that were not sent, or certainly not processed. */
  document() {
    const created = this.#allOf('created', ({ category }) => category);
    const skipped = this.#allOf('exists', ({ category }, { row, name, description }) => {
      const differs = description !== undefined && description !== (category.description ?? '');
      return { row, name, id: category.id, ...(differs && { differs }) };
    });
    const failed = this.#allOf('failed', ({ error }, { row, name }) => {
      const { code, serviceMessage, message, status } = error;
      return { row, name, code, message: serviceMessage ?? message, status };
    });
    const unknown = this.#allOf('unknown', ({ maybe }, { row, name }) => ({ row, name, maybe }));
    return { created, skipped, failed, unknown, pending: this.pending };
  }

  #allOf<State extends Outcome['state'], Shown>(
    state: State,
    show: (outcome: OutcomeOf<State>, row: NumberedRow) => Shown,
  ): readonly Shown[] {
    return this.rowsIn(state).map((row) => show(this.#outcomes[row] as OutcomeOf<State>, this.numbered(row)));
  }
}

export type ImportDocument = ReturnType<ImportResults['document']>;
