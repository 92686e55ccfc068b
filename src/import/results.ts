// The documents of an import (docs/cli.md): the outcome of every row, and the preview of a dry run.
import type { Category, NewCategory } from '../api/types.ts';
import type { PetstoreError } from '../errors.ts';
import type { Int64 } from '../json.ts';
import type { QuotaView } from '../rate-limit/quota-view.ts';
import type { Estimate } from './estimate.ts';
import { estimate } from './estimate.ts';
import type { Finding } from './list-proof.ts';

/** Rows count from 1 in the documents. */
interface RowRef {
  readonly row: number;
  readonly name: string;
}

/** A row that may or may not exist, and the category that it may be. */
export interface UnknownRow extends RowRef {
  readonly maybe?: Pick<Category, 'id' | 'name'>;
}

export interface SkippedRow extends RowRef {
  readonly id: Int64;
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
  | { readonly state: 'sending'; readonly attempt: string }
  | { readonly state: 'unknown'; readonly attempt: string; readonly suspect?: Category }
  | { readonly state: 'created'; readonly attempt: string; readonly category: Category }
  | { readonly state: 'failed'; readonly error: PetstoreError };

/** The outcomes of the rows, by zero-based index; a row without an outcome is pending. */
export class ImportResults {
  readonly rows: readonly NewCategory[];
  readonly #outcomes = new Map<number, Outcome>();
  readonly #counts = { exists: 0, sending: 0, unknown: 0, created: 0, failed: 0 };

  constructor(rows: readonly NewCategory[]) {
    this.rows = rows;
  }

  /** @param outcome undefined: the row certainly does not exist */
  set(row: number, outcome: Outcome | undefined): void {
    const before = this.#outcomes.get(row);
    if (before) this.#counts[before.state]--;
    if (outcome) this.#counts[outcome.state]++;
    if (outcome) this.#outcomes.set(row, outcome);
    else this.#outcomes.delete(row);
  }

  add(findings: readonly Finding[]): number[] {
    const missing: number[] = [];
    for (const [row, finding] of findings.entries()) {
      if (!finding) missing.push(row);
      else if ('category' in finding) this.set(row, { state: 'exists', ...finding });
      else this.set(row, { state: 'unknown', ...finding });
    }
    return missing;
  }

  /** Makes created rows uncertain again; returns them. */
  withdraw(isUncertain: (attempt: string) => boolean): number[] {
    const rows: number[] = [];
    for (const [row, outcome] of this.#outcomes) {
      if (outcome.state !== 'created' || !isUncertain(outcome.attempt)) continue;
      this.set(row, { state: 'unknown', attempt: outcome.attempt });
      rows.push(row);
    }
    return rows;
  }

  stateOf(row: number): Outcome['state'] | undefined {
    return this.#outcomes.get(row)?.state;
  }

  *uncertain(): Generator<[row: number, attempt: string]> {
    for (const [row, outcome] of this.#outcomes) if (outcome.state === 'unknown') yield [row, outcome.attempt];
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

  get left(): number {
    return this.rows.length - this.done - this.unknown - this.#counts.sending;
  }

  /** The number of rows whose name the service altered. */
  get altered(): number {
    return [...this.#outcomes].filter(([row, one]) => 'category' in one && one.category.name !== this.rows[row]?.name)
      .length;
  }

  document(): ImportDocument {
    const created: Category[] = [];
    const skipped: SkippedRow[] = [];
    const failed: FailedRow[] = [];
    const unknown: UnknownRow[] = [];
    for (const [at, { name, description }] of this.rows.entries()) {
      const row = { row: at + 1, name };
      const outcome = this.#outcomes.get(at);
      if (outcome?.state === 'created') created.push(outcome.category);
      else if (outcome?.state === 'exists') skipped.push({ ...row, ...skippedAs(outcome.category, description) });
      else if (outcome?.state === 'failed') failed.push({ ...row, ...failureOf(outcome.error) });
      else if (outcome?.state === 'unknown' && outcome.suspect) {
        const { id, name } = outcome.suspect;
        unknown.push({ ...row, maybe: { id, name } });
      } else if (outcome) unknown.push(row);
    }
    return { created, skipped, failed, unknown, pending: this.left };
  }
}

function skippedAs(
  { id, description: there }: Category,
  description: string | undefined,
): Omit<SkippedRow, keyof RowRef> {
  const differs = description !== undefined && description !== (there ?? '');
  return differs ? { id, differs } : { id };
}

function failureOf({ code, serviceMessage, message, status }: PetstoreError): Omit<FailedRow, keyof RowRef> {
  return { code, message: serviceMessage ?? message, status };
}

interface PlannedRow extends RowRef {
  readonly description?: string | undefined;
}

export interface Preview {
  readonly dryRun: true;
  readonly toCreate: readonly PlannedRow[];
  readonly skipped: readonly SkippedRow[];
  /** The number of rows that an earlier run left unknown; an import looks them up. */
  readonly unknown: number;
  readonly estimate: Estimate;
}

export function previewOf(
  rows: readonly NewCategory[],
  findings: readonly Finding[],
  { quota, now }: { readonly quota: QuotaView; readonly now: number },
): Preview {
  const results = new ImportResults(rows);
  const toCreate = results.add(findings).map((at): PlannedRow => ({ row: at + 1, ...(rows[at] as NewCategory) }));
  const { skipped, unknown } = results.document();
  const requests = toCreate.length + unknown.length;
  return { dryRun: true, toCreate, skipped, unknown: unknown.length, estimate: estimate(requests, quota, now) };
}
