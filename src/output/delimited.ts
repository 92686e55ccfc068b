// Rows as CSV (RFC 4180) or TSV: exact, so that what is listed can be imported again unchanged.
import { escapeControls } from '../escape.ts';
import type { Column } from './view.ts';

interface Dialect {
  readonly separator: string;
  readonly lineEnd: string;
  /** What makes a field need quotes. */
  readonly special: RegExp;
}

const DIALECTS: Readonly<Record<'csv' | 'tsv', Dialect>> = {
  // RFC 4180 ends lines in CR LF, and its readers take LF too; `cut`, `while read` and `sort` would keep the CR.
  csv: { separator: ',', lineEnd: '\n', special: /[",\r\n]|^\s|\s$|^\ufeff/ },
  // No standard quotes in TSV; spreadsheets and `categories import` read the quotes of RFC 4180 there too.
  tsv: { separator: '\t', lineEnd: '\n', special: /["\t\r\n]|^\s|\s$|^\ufeff/ },
};

const PAGE = 500;

/**
 * Writes rows under a header line.
 * @param format `csv` or `tsv`
 * @param columns the fields; an absent value is an empty field, an empty text is a pair of quotes
 * @param rows the data
 * @param safe true where it goes to a terminal: control characters are made visible, and it is no longer exact
 * @returns pieces of the document, each ending in a line break
 */
export function* delimited<Row>(
  format: 'csv' | 'tsv',
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  safe: boolean,
): Generator<string> {
  const { separator, lineEnd, special } = DIALECTS[format];
  const field = (value: string | undefined): string => {
    if (value === undefined) return '';
    const text = safe ? escapeControls(value) : value;
    return text === '' || special.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  yield columns.map((column) => field(column.header)).join(separator) + lineEnd;
  for (let from = 0; from < rows.length; from += PAGE) {
    let page = '';
    for (const row of rows.slice(from, from + PAGE)) {
      page += columns.map((column) => field(column.value(row))).join(separator) + lineEnd;
    }
    yield page;
  }
}
