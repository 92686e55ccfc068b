// Rows as CSV (RFC 4180) or TSV by csv-stringify: exact, so that a list can be imported again unchanged.
import { stringify } from 'csv-stringify/sync';
import { escapeControls } from '../escape.ts';
import type { Column } from './view.ts';

const PAGE_ROWS = 500;
/** Besides what RFC 4180 quotes: the empty text, blanks that readers may trim, and what may pass for a byte order mark. */
const QUOTED = /^$|^[\s\ufeff]|\s$/;

/**
 * Writes rows below a header line.
 * @param format TSV has no standard quotes; those of CSV are what spreadsheets and `categories import` read
 * @param columns an absent value is an empty field, an empty text a pair of quotes
 * @param safe for a terminal: escapes control characters, so the text is no longer exact
 */
export function* delimited<Row>(
  format: 'csv' | 'tsv',
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  safe: boolean,
): Generator<string> {
  const options = { delimiter: format === 'csv' ? ',' : '\t', quoted_match: QUOTED };
  const cell = (text: string | undefined): string | undefined =>
    safe && text !== undefined ? escapeControls(text) : text;
  yield stringify([columns.map(({ header }) => cell(header))], options);
  for (let from = 0; from < rows.length; from += PAGE_ROWS) {
    const page = rows.slice(from, from + PAGE_ROWS);
    yield stringify(
      page.map((row) => columns.map((column) => cell(column.value(row)))),
      options,
    );
  }
}
