// The state of every row in this run, and the document that `--json` prints (docs/cli.md).
import type { Category, NewCategory } from '../api/types.ts';
import type { PetstoreError } from '../errors.ts';
import type { Int64 } from '../json.ts';
import type { RowState } from './journal-record.ts';

/** A row that was not sent: an earlier run created it, or its name exists. Rows count from 1 in the document. */
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

/** A row that may or may not exist. */
export interface UnknownRow {
  readonly row: number;
  readonly name: string;
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

type Result =
  | { readonly state: 'created'; readonly category: Category }
  | { readonly state: 'skipped'; readonly id: Int64 }
  | { readonly state: 'failed'; readonly error: PetstoreError }
  | { readonly state: 'unknown' };

/** Rows count from 0 here. */
export class ImportResults {
  readonly #rows: readonly NewCategory[];
  readonly #results = new Map<number, Result>();
  readonly #counts: Record<Result['state'], number> = { created: 0, skipped: 0, failed: 0, unknown: 0 };

  constructor(rows: readonly NewCategory[]) {
    this.#rows = rows;
  }

  /** @returns `pending` for a row without a result */
  stateOf(row: number): RowState {
    return this.#results.get(row)?.state ?? 'pending';
  }

  count(state: Result['state']): number {
    return this.#counts[state];
  }

  /** How many rows need no more requests. */
  get done(): number {
    const { created, skipped, failed } = this.#counts;
    return created + skipped + failed;
  }

  /** Whether every row exists. */
  get complete(): boolean {
    return this.#counts.created + this.#counts.skipped === this.#rows.length;
  }

  /** @param result undefined: the row is pending again */
  set(row: number, result: Result | undefined): void {
    const before = this.#results.get(row);
    if (before) this.#counts[before.state]--;
    this.#results.delete(row);
    if (!result) return;
    this.#counts[result.state]++;
    this.#results.set(row, result);
  }

  document(): ImportDocument {
    const created: Category[] = [];
    const skipped: SkippedRow[] = [];
    const failed: FailedRow[] = [];
    const unknown: UnknownRow[] = [];
    for (const [at, { name }] of this.#rows.entries()) {
      const result = this.#results.get(at);
      const row = { row: at + 1, name };
      if (result?.state === 'created') created.push(result.category);
      else if (result?.state === 'skipped') skipped.push({ ...row, id: result.id });
      else if (result?.state === 'failed') failed.push({ ...row, ...failure(result.error) });
      else if (result) unknown.push(row);
    }
    return { created, skipped, failed, unknown, pending: this.#rows.length - this.#results.size };
  }
}

function failure({ code, serviceMessage, message, status }: PetstoreError): Omit<FailedRow, keyof UnknownRow> {
  return { code, message: serviceMessage ?? message, status };
}
