// Rows as CSV (RFC 4180) or TSV by csv-stringify: exact, so that a list can be imported again unchanged.
import { stringify } from 'csv-stringify/sync';
import { escapeControls } from '../../text/escape.ts';
import type { Column } from './view.ts';

const PAGE_ROWS = 500;
/** Fields to quote: those of RFC 4180, empty strings, outer blanks that readers may trim, and a leading byte order mark. */
const QUOTED = /["\r\n]|^$|^[\s\ufeff]|\s$/;

/**
 * Writes a header and rows as CSV or TSV.
 * @param format TSV is quoted like CSV, as spreadsheets and `categories import` expect
 * @param columns an absent value is an empty field, an empty string a pair of quotes
 * @param safe escapes control characters for a terminal, so the text is no longer exact
 */
export function* formatDelimited<Row>(
  format: 'csv' | 'tsv',
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  safe: boolean,
): Generator<string> {
  const delimiter = format === 'csv' ? ',' : '\t';
  const cell = (text: string | undefined): string | undefined =>
    safe && text !== undefined ? escapeControls(text) : text;
  yield stringify([columns.map(({ header }) => cell(header))], { delimiter, quoted_match: QUOTED });
  for (let from = 0; from < rows.length; from += PAGE_ROWS) {
    const records = rows.slice(from, from + PAGE_ROWS).map((row) => columns.map((column) => cell(column.value(row))));
    yield stringify(records, { delimiter, quoted_match: QUOTED });
  }
}
