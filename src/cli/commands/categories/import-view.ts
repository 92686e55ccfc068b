// The view of an import: its counts and the rows that need attention; with --json the document of docs/cli.md.
import type { PetstoreError } from '../../../errors.ts';
import type { NumberedRow } from '../../../import/results.ts';
import type { ImportDocument } from '../../../public-types.ts';
import { formatCount, formatNumber } from '../../../text/format.ts';
import type { Column, TextContext, View } from '../../output/view.ts';
import type { Estimate } from './import-progress.ts';
import { DAY_MS, formatEstimate } from './import-progress.ts';

export interface Preview {
  readonly dryRun: true;
  readonly toCreate: readonly NumberedRow[];
  readonly skipped: ImportDocument['skipped'];
  readonly estimate: Estimate;
}

/** The outcome of an import, with its error if it failed. */
export interface Done {
  readonly document: ImportDocument;
  readonly failure: PetstoreError | undefined;
}

export type ImportData = Done | Preview;

/** The maximum number of rows in a table; `--json` has all of them. */
const SHOWN = 20;

export const importView: View<ImportData> = {
  tables: true,
  failure: (data) => ('document' in data ? data.failure : undefined),
  json: (data) => ('document' in data ? data.document : planJson(data)),
  change: (data) => ('document' in data ? countsOf(data.document) : undefined),
  text: (data, context) => ('document' in data ? summary(data.document, context) : planned(data, context)),
};

function countsOf({ created, skipped, failed, unknown, pending }: ImportDocument): string {
  const counts = { created, skipped, failed, unknown };
  const parts = Object.entries(counts).map(([word, rows]) => `${word} ${formatNumber(rows.length)}`);
  return [...parts, ...(pending > 0 ? [`pending ${formatNumber(pending)}`] : [])].join(', ');
}

function* summary(
  { created, skipped, failed, unknown, pending }: ImportDocument,
  context: TextContext,
): Generator<string> {
  const { green, red, yellow, dim } = context.style;
  const part = (word: string, count: number, color = (text: string) => text): string => {
    const text = `${word} ${formatNumber(count)}`;
    return count > 0 ? color(text) : text;
  };
  const parts = [
    part('Created', created.length, green),
    part('skipped', skipped.length),
    part('failed', failed.length, red),
    part('unknown', unknown.length, yellow),
    ...(pending > 0 ? [part('pending', pending, yellow)] : []),
  ];
  yield `${parts.join(dim(', '))}\n`;
  if (failed.length > 0) yield '\nRejected by the service:\n';
  yield* table(context, failed, 'rejected', [
    { header: 'status', value: ({ status }) => status?.toString() },
    { header: 'code', value: ({ code }) => code },
    { header: 'message', value: ({ message }) => message },
  ]);
  if (unknown.length > 0) yield '\nMay or may not exist:\n';
  yield* table(context, unknown, 'unknown', []);
}

function* planned({ toCreate, skipped, estimate }: Preview, context: TextContext): Generator<string> {
  yield* table(context, toCreate, 'to create', [{ header: 'description', value: ({ description }) => description }]);
  const create = `Would create ${formatCount(toCreate.length, 'category', 'categories')}`;
  yield `${create} and skip ${formatNumber(skipped.length)}\n`;
  if (toCreate.length > 0) yield `Estimated time: ${formatEstimate(estimate)}\n`;
}

function planJson({ estimate, ...preview }: Preview): object {
  const estimatedSeconds = estimate.ms && Math.ceil(estimate.ms / 1000);
  return { ...preview, estimatedSeconds, exceedsDailyLimit: estimate.windowMs === DAY_MS && estimate.ms !== 0 };
}

function* table<Row extends Pick<NumberedRow, 'row' | 'name'>>(
  context: TextContext,
  rows: readonly Row[],
  what: string,
  columns: readonly Column<Row>[],
): Generator<string> {
  if (rows.length === 0) return;
  const row: Column<Row> = { header: 'row', value: (one) => String(one.row), align: 'right' };
  const name: Column<Row> = { header: 'name', value: (one) => one.name };
  yield* context.table([row, name, ...columns], rows.slice(0, SHOWN));
  const more = rows.length - SHOWN;
  if (more > 0) yield context.style.dim(`and ${formatNumber(more)} more ${what} (see --json)\n`);
}
