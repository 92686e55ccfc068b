// The documents of an import (docs/cli.md): what became of every row, by its journal, and the preview of a dry run.
import type { Category, NewCategory } from '../api/types.ts';
import type { PetstoreError } from '../errors.ts';
import type { Int64 } from '../json.ts';
import type { QuotaView } from '../rate-limit/quota-view.ts';
import type { Estimate } from './estimate.ts';
import { estimate } from './estimate.ts';
import type { RowState } from './journal-record.ts';
import type { JournalState } from './journal-state.ts';
import { idOf } from './journal-state.ts';

/** A row that may or may not exist. Rows count from 1 in the document. */
export interface UnknownRow {
  readonly row: number;
  readonly name: string;
}

/** A row that was not sent: an earlier run created it, or its name exists. */
export interface SkippedRow extends UnknownRow {
  readonly id: Int64;
}

/** A row that the service rejected. */
export interface FailedRow extends UnknownRow {
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

/** The states are in the journal; this adds what it does not keep: categories, errors, existing names. Rows count from 0. */
export class ImportResults {
  readonly #rows: readonly NewCategory[];
  readonly #journal: { readonly state: JournalState };
  /** The categories of rows that this run created or found. */
  readonly categories = new Map<number, Category>();
  readonly rejections = new Map<number, PetstoreError>();
  /** The ids of categories that have the name of a row, where such rows are skipped. */
  readonly existing = new Map<number, Int64>();

  constructor(rows: readonly NewCategory[], journal: { readonly state: JournalState }) {
    this.#rows = rows;
    this.#journal = journal;
  }

  /** @returns `skipped` for a row that another run created */
  stateOf(row: number): RowState {
    if (this.existing.has(row)) return 'skipped';
    const { state, id } = this.#journal.state.rows.get(row) ?? { state: 'pending' };
    const category = this.categories.get(row);
    // A 201 counts before it is recorded, and where it cannot be.
    if (state === 'sending' && category) return 'created';
    return state === 'created' && id !== String(category?.id) ? 'skipped' : state;
  }

  /** How many rows this run created or found. */
  get created(): number {
    return this.categories.size;
  }

  get unknown(): number {
    return this.#journal.state.unknown.size;
  }

  /** How many rows need no more requests. */
  get done(): number {
    return this.#existingRows + this.rejections.size;
  }

  /** Every row exists. */
  get complete(): boolean {
    return this.#existingRows === this.#rows.length;
  }

  get #existingRows(): number {
    return this.#journal.state.owners.size + this.existing.size;
  }

  /**
   * Splits the pending rows by whether a category that is not this import's has their name.
   * @param skip true: those rows are skipped; false: they are sent as well
   * @returns the rows to send, and how many of them have a name that exists
   */
  plan(listed: readonly Category[], skip: boolean): { readonly send: number[]; readonly existing: number } {
    const { owners } = this.#journal.state;
    const others = listed.filter(({ id }) => !owners.has(String(id)));
    const ids = new Map(others.map(({ id, name }) => [name, id]));
    const send: number[] = [];
    let existing = 0;
    for (const [row, { name }] of this.#rows.entries()) {
      const state = this.stateOf(row);
      const id = ids.get(name);
      if (state !== 'pending' && state !== 'failed') continue;
      if (id !== undefined && skip) {
        this.existing.set(row, id);
        continue;
      }
      if (id !== undefined) existing++;
      send.push(row);
    }
    return { send, existing };
  }

  document(): ImportDocument {
    const created: Category[] = [];
    const skipped: SkippedRow[] = [];
    const failed: FailedRow[] = [];
    const unknown: UnknownRow[] = [];
    let pending = 0;
    for (const [at, { name }] of this.#rows.entries()) {
      const row = { row: at + 1, name };
      const state = this.stateOf(at);
      const category = this.categories.get(at);
      const rejection = this.rejections.get(at);
      if (state === 'created' && category) created.push(category);
      else if (state === 'skipped') skipped.push({ ...row, id: this.#idOf(at) });
      else if (state === 'failed' && rejection) failed.push({ ...row, ...failureOf(rejection) });
      else if (state === 'unknown' || state === 'sending') unknown.push(row);
      else pending++;
    }
    return { created, skipped, failed, unknown, pending };
  }

  #idOf(row: number): Int64 {
    return this.existing.get(row) ?? idOf(this.#journal.state.rows.get(row)?.id ?? '');
  }
}

function failureOf({ code, serviceMessage, message, status }: PetstoreError): Omit<FailedRow, keyof UnknownRow> {
  return { code, message: serviceMessage ?? message, status };
}

interface PlannedRow extends UnknownRow {
  readonly description?: string;
}

/** What `--dry-run` prints. */
export interface Preview {
  readonly dryRun: true;
  readonly toCreate: readonly PlannedRow[];
  readonly skipped: readonly SkippedRow[];
  /** Rows that an earlier run left unknown; they would be looked up first. */
  readonly unknown: number;
  /** Undefined where no limit is known. */
  readonly estimate: Estimate | undefined;
}

export function previewOf(
  rows: readonly NewCategory[],
  state: JournalState,
  listed: readonly Category[],
  options: { readonly skipExisting: boolean; readonly quota: QuotaView; readonly now: number },
): Preview {
  const { skipExisting, quota, now } = options;
  const results = new ImportResults(rows, { state });
  const { send } = results.plan(listed, skipExisting);
  const toCreate = send.map((row) => ({ row: row + 1, ...(rows[row] as NewCategory) }));
  const { skipped, unknown } = results.document();
  const requests = toCreate.length + unknown.length;
  return { dryRun: true, toCreate, skipped, unknown: unknown.length, estimate: estimate(requests, quota, now) };
}
