// How an import is told: counts, then what needs a look; with --json the document of the contract, section 7.

import { escapeControls } from '../../escape.ts';
import type { Preview } from '../../import/preview.ts';
import type { FailedRow, ImportDocument, UnknownRow } from '../../import/results.ts';
import type { Column, TextContext, View } from '../../output/view.ts';
import type { ImportData } from './import.ts';

/** How many rows a person is shown; `--json` has them all. */
const SHOWN = 20;

/** The document, or the preview, as JSON; for a person the counts and the rows that went wrong. */
export const importView: View<ImportData> = {
  tables: true,
  json: (data) => ('document' in data ? data.document : data),
  text: (data, look) => ('document' in data ? summary(data.document, look) : planned(data, look)),
};

function* summary(
  { created, skipped, failed, unknown, pending }: ImportDocument,
  look: TextContext,
): Generator<string> {
  const { green, red, yellow, dim } = look.style;
  const parts = [
    green(`created ${created.length}`),
    `skipped ${skipped.length}`,
    failed.length > 0 ? red(`failed ${failed.length}`) : 'failed 0',
    unknown.length > 0 ? yellow(`unknown ${unknown.length}`) : 'unknown 0',
  ];
  if (pending > 0) parts.push(yellow(`pending ${pending}`));
  yield `${parts.join(dim(', '))}\n`;
  if (failed.length > 0) yield '\nrejected by the service:\n';
  yield* table(look, failed, 'rejected', FAILED);
  if (unknown.length > 0) yield '\nmay exist or not:\n';
  yield* table(look, unknown, 'unknown', UNKNOWN);
}

function* planned(data: Preview, look: TextContext): Generator<string> {
  yield* table(look, data.toCreate, 'to create', PLANNED);
  yield `would create ${data.toCreate.length}, skip ${data.skipped.length}`;
  yield data.undecided > 0 ? `, look up ${data.undecided} without an answer\n` : '\n';
  if (!data.windows || data.endsAt === null) return;
  const windows = data.windows === 1 ? '1 window' : `${data.windows} windows`;
  yield `takes ${windows} of the quota, until ${data.endsAt} at the earliest\n`;
}

const ROW = { header: 'row', value: (row: { readonly row: number }) => String(row.row), align: 'right' } as const;
const NAME = { header: 'name', value: (row: { readonly name: string }) => row.name } as const;
const UNKNOWN = [ROW, NAME] as const;
const FAILED = [
  ROW,
  NAME,
  { header: 'status', value: (row: FailedRow) => row.status?.toString() },
  { header: 'code', value: (row: FailedRow) => row.code },
  { header: 'message', value: (row: FailedRow) => row.message },
] as const;
const PLANNED = [
  ROW,
  NAME,
  { header: 'description', value: (row: { readonly description?: string }) => row.description },
] as const;

function* table<Row extends UnknownRow>(
  look: TextContext,
  rows: readonly Row[],
  what: string,
  columns: readonly Column<NoInfer<Row>>[],
): Generator<string> {
  if (rows.length === 0) return;
  yield* look.table(columns, rows.slice(0, SHOWN));
  if (rows.length > SHOWN)
    yield look.style.dim(escapeControls(`and ${rows.length - SHOWN} more ${what} (--json has them all)\n`, '\n'));
}
