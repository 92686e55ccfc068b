// What has become of every row, as the document of the contract, section 7.
import type { Category, NewCategory } from '../api/types.ts';
import type { PetstoreError } from '../errors.ts';
import type { Int64 } from '../json.ts';

/** A row that was left out: created by an earlier run, or its name exists. Rows count from 1. */
export interface SkippedRow {
  readonly row: number;
  readonly name: string;
  readonly id: Int64;
}

/** A row that the service rejected. */
export interface FailedRow {
  readonly row: number;
  readonly name: string;
  readonly code?: string | undefined;
  readonly message: string;
  readonly status?: number | undefined;
}

/** A row that may exist or not. */
export interface UnknownRow {
  readonly row: number;
  readonly name: string;
}

/** What `--json` prints; each list in the order of the file. */
export interface ImportDocument {
  readonly created: readonly Category[];
  readonly skipped: readonly SkippedRow[];
  readonly failed: readonly FailedRow[];
  readonly unknown: readonly UnknownRow[];
  /** Rows that were not tried, or certainly not carried out. */
  readonly pending: number;
}

/** Counts and keeps outcomes; rows are numbered from 0 here and from 1 in the document. */
export class ImportResults {
  readonly #rows: readonly NewCategory[];
  readonly #created = new Map<number, Category>();
  readonly #skipped = new Map<number, Int64>();
  readonly #failed = new Map<number, PetstoreError>();
  readonly #lost = new Set<number>();

  /** @param rows the rows of the import */
  constructor(rows: readonly NewCategory[]) {
    this.#rows = rows;
  }

  /** @returns how many rows were created by this run */
  get created(): number {
    return this.#created.size;
  }

  /** @returns how many rows need nothing any more */
  get done(): number {
    return this.#created.size + this.#skipped.size + this.#failed.size;
  }

  /** @returns the rows whose answer is lost, by number */
  get lost(): ReadonlySet<number> {
    return this.#lost;
  }

  /** @returns true where every row exists */
  get complete(): boolean {
    return this.#created.size + this.#skipped.size === this.#rows.length;
  }

  create(row: number, category: Category): void {
    this.#lost.delete(row);
    this.#created.set(row, category);
  }

  skip(row: number, id: Int64): void {
    this.#skipped.set(row, id);
  }

  fail(row: number, error: PetstoreError): void {
    this.#failed.set(row, error);
  }

  lose(row: number): void {
    this.#lost.add(row);
  }

  /** The row is to be sent again: nothing is known against it. */
  reopen(row: number): void {
    this.#lost.delete(row);
  }

  /** @returns whether anything is known of the row */
  knows(row: number): boolean {
    return this.#created.has(row) || this.#skipped.has(row) || this.#failed.has(row) || this.#lost.has(row);
  }

  /** @returns the document; what is lost is listed as unknown */
  document(): ImportDocument {
    const name = (row: number): string => this.#rows[row]?.name ?? '';
    const ordered = <T>(map: ReadonlyMap<number, T>): [number, T][] => [...map].sort(([a], [b]) => a - b);
    return {
      created: ordered(this.#created).map(([, category]) => category),
      skipped: ordered(this.#skipped).map(([row, id]) => ({ row: row + 1, name: name(row), id })),
      failed: ordered(this.#failed).map(([row, error]) => failure(row, name(row), error)),
      unknown: [...this.#lost].sort((a, b) => a - b).map((row) => ({ row: row + 1, name: name(row) })),
      pending: this.#rows.length - this.done - this.#lost.size,
    };
  }
}

function failure(row: number, name: string, { code, serviceMessage, message, status }: PetstoreError): FailedRow {
  return { row: row + 1, name, code, message: serviceMessage ?? message, status };
}
