// How a verb's data is to be shown: the declaration that `render` turns into text. Types only.

/** The output formats of the contract (section 2). */
export type Format = 'table' | 'json' | 'ndjson' | 'csv' | 'tsv';

/** One column of a table. */
export interface Column<Row> {
  /** Heading in a table; in CSV and TSV the field's name. */
  readonly header: string;
  /** @returns the cell's text as it is; the table makes it safe, CSV and TSV quote it */
  readonly value: (row: Row) => string | undefined;
  readonly align?: 'left' | 'right';
  /** Order of shortening where the terminal is narrow: 1 first; without it the column is shortened last. */
  readonly shrink?: number;
}

/** A painter for one stream: functions that colour text, or leave it alone where the stream carries no colour. */
export interface Style {
  readonly bold: (text: string) => string;
  readonly dim: (text: string) => string;
  readonly red: (text: string) => string;
  readonly green: (text: string) => string;
  readonly yellow: (text: string) => string;
  readonly cyan: (text: string) => string;
}

/** What a text view may know of the stream it is written to. */
export interface TextContext {
  readonly style: Style;
  /** Terminal width in cells; undefined where full text is wanted (a pipe). */
  readonly columns: number | undefined;
  /** Wall clock, epoch milliseconds: for "resets in 43s". */
  readonly now: number;
  /** @returns a table fitted to the stream, ending in a line break */
  readonly table: <Row>(columns: readonly Column<Row>[], rows: readonly Row[]) => Iterable<string>;
}

/** How one verb's data is shown. */
export interface View<Data> {
  /** What `--json` prints; the data itself unless given. */
  readonly json?: (data: Data) => unknown;
  /** What a person reads; pieces of text, each ending in a line break. */
  readonly text: (data: Data, look: TextContext) => Iterable<string>;
  /** What goes out instead of `text`, byte for byte, where stdout is no terminal (`petstore api`). */
  readonly bytes?: (data: Data) => Uint8Array;
  /** Rows for csv, tsv and ndjson; ndjson prints the rows themselves. */
  readonly records?: { readonly columns: readonly Column<never>[]; readonly rows: (data: Data) => readonly unknown[] };
}
