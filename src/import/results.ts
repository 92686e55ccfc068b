// The state of each name in a file, and the document of an import (docs/cli.md).
import type { PetstoreError } from '../errors.ts';
import type { Category, ImportDocument, ImportProgress, NewCategory } from '../public-types.ts';

export type Outcome =
  | { readonly state: 'skipped'; readonly category: Category }
  /** The category may or may not exist. */
  | { readonly state: 'unknown'; readonly reason?: string | undefined }
  | { readonly state: 'created'; readonly category: Category }
  | { readonly state: 'failed'; readonly error: PetstoreError };

type OutcomeOf<State> = Outcome & { readonly state: State };

/** Rows are counted from 1 in the document. */
export type NumberedRow = NewCategory & { readonly row: number };

/** A name and its outcome; without an outcome, the name is pending. */
export interface ImportEntry {
  /** The first row with this name. */
  readonly row: NumberedRow;
  /** How many times the name was sent. */
  sent: number;
  outcome: Outcome | undefined;
}

type Skipped = ImportDocument['skipped'][number];

/** The names of the rows, in the order of the file; each name is one category, and rows that repeat it are skipped. */
export class ImportResults {
  /** The number of names in each state. */
  readonly #counts = { skipped: 0, unknown: 0, created: 0, failed: 0 };
  /** The new categories that no name explains: each may belong to an unknown name. */
  unexplained: readonly Category[] = [];
  readonly #entries = new Map<string, ImportEntry>();
  readonly #repeats: { readonly row: number; readonly of: ImportEntry }[] = [];

  constructor(rows: readonly NewCategory[]) {
    for (const [at, { name, description }] of rows.entries()) {
      const of = this.#entries.get(name);
      const row = { row: at + 1, name, ...(description !== undefined && { description }) };
      if (of) this.#repeats.push({ row: row.row, of });
      else this.#entries.set(name, { row, sent: 0, outcome: undefined });
    }
  }

  get(name: string): ImportEntry | undefined {
    return this.#entries.get(name);
  }

  /** @param outcome undefined: the category certainly does not exist */
  set(entry: ImportEntry, outcome: Outcome | undefined): void {
    if (entry.outcome) this.#counts[entry.outcome.state]--;
    if (outcome) this.#counts[outcome.state]++;
    entry.outcome = outcome;
  }

  /** The names in a state; undefined: pending. */
  in(state: Outcome['state'] | undefined): ImportEntry[] {
    return [...this.#entries.values()].filter(({ outcome }) => outcome?.state === state);
  }

  get progress(): ImportProgress {
    const { created, skipped, failed, unknown } = this.#counts;
    const pending = this.#entries.size - created - skipped - failed - unknown;
    return { created, skipped, failed, unknown, pending };
  }

  /** Each list of rows is in the order of the file. */
  document(): ImportDocument {
    const created = this.#allOf('created', ({ category }) => category);
    const existing = this.#allOf('skipped', ({ category }, { row, name, description }): Skipped => {
      const differs = description !== undefined && description !== (category.description ?? '');
      return { row, name, id: category.id, ...(differs && { differs }) };
    });
    const repeated = this.#repeats.map(({ row, of: { row: first, outcome } }): Skipped => {
      const id = outcome && 'category' in outcome && { id: outcome.category.id };
      return { row, name: first.name, ...id, repeats: first.row };
    });
    const skipped = [...existing, ...repeated].sort((a, b) => a.row - b.row);
    const failed = this.#allOf('failed', ({ error }, { row, name }) => {
      const { code, serviceMessage, message, status } = error;
      return { row, name, code, message: serviceMessage ?? message, status };
    });
    const unknown = this.#allOf('unknown', ({ reason }, { row, name }) => ({ row, name, reason }));
    const isUnexplained = unknown.length > 0 && this.unexplained.length > 0;
    const unexplained = isUnexplained && { unexplained: this.unexplained.map(({ id, name }) => ({ id, name })) };
    return { created, skipped, failed, unknown, pending: this.progress.pending, ...unexplained };
  }

  #allOf<State extends Outcome['state'], Shown>(
    state: State,
    show: (outcome: OutcomeOf<State>, row: NumberedRow) => Shown,
  ): readonly Shown[] {
    return this.in(state).map(({ outcome, row }) => show(outcome as OutcomeOf<State>, row));
  }
}
