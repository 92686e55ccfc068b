// `--dry-run`: what would be created, how many windows of the quota it takes, and when it would end. No create is sent.
import type { Category, NewCategory } from '../api/types.ts';
import type { Int64 } from '../json.ts';
import type { QuotaView } from '../rate-limit/quota-view.ts';
import { estimate } from './estimate.ts';
import type { RowEntry } from './journal-record.ts';
import { idOf } from './journal-state.ts';
import type { SkippedRow } from './results.ts';

/** A row that would be created; rows count from 1. */
export interface PlannedRow {
  readonly row: number;
  readonly name: string;
  readonly description?: string;
}

/** What an import would do. */
export interface Preview {
  readonly dryRun: true;
  readonly toCreate: readonly PlannedRow[];
  readonly skipped: readonly SkippedRow[];
  /** Rows of an earlier run without an answer: they would be looked up first. */
  readonly undecided: number;
  /** Windows of the quota; null where nothing is known of it. */
  readonly windows: number | null;
  /** ISO 8601, not before; null where nothing is known of the quota. */
  readonly endsAt: string | null;
}

/**
 * Works out what an import would do.
 * @param rows the rows of the file
 * @param noted what the journal says of them
 * @param listed what the service lists
 * @param options whether existing names are left out; quota; the wall clock, epoch milliseconds
 * @returns the preview
 */
export function previewOf(
  rows: readonly NewCategory[],
  noted: ReadonlyMap<number, RowEntry>,
  listed: readonly Category[],
  options: { readonly skipExisting: boolean; readonly quota: QuotaView; readonly now: number },
): Preview {
  const owned = new Set([...noted.values()].flatMap(({ id }) => (id === undefined ? [] : [id])));
  const others = options.skipExisting ? listed.filter(({ id }) => !owned.has(String(id))) : [];
  const existing = new Map<string, Int64>(others.map(({ id, name }) => [name, id]));
  const toCreate: PlannedRow[] = [];
  const skipped: SkippedRow[] = [];
  let undecided = 0;
  for (let at = 0; at < rows.length; at++) {
    const entry = noted.get(at);
    const row = { row: at + 1, ...(rows[at] as NewCategory) };
    const id = entry?.id === undefined ? existing.get(row.name) : idOf(entry.id);
    if (entry?.state === 'unknown' || entry?.state === 'sending') undecided++;
    else if (id === undefined) toCreate.push(row);
    else skipped.push({ row: row.row, name: row.name, id });
  }
  const rowsLeft = toCreate.length + undecided;
  // The list before the first row, and the one that rows without an answer are looked up in, are requests too.
  const first = rowsLeft > 0 && (noted.size === 0 || owned.size > 0 || options.skipExisting) ? 1 : 0;
  const requests = rowsLeft + first + (undecided > 0 ? 1 : 0);
  const { windows, endsAt } = estimate(requests, options.quota, options.now);
  return {
    dryRun: true,
    toCreate,
    skipped,
    undecided,
    windows: windows ?? null,
    endsAt: endsAt === undefined ? null : new Date(endsAt).toISOString(),
  };
}
