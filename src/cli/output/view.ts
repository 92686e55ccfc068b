// The types with which a command declares how its result is shown.
import type { PetstoreError } from '../../errors.ts';

export interface Column<Row> {
  /** Heading in a table; field name in CSV and TSV. */
  readonly header: string;
  /** The cell's raw text: tables escape it, CSV and TSV quote it. */
  value(row: Row): string | undefined;
  readonly align?: 'left' | 'right';
  /** Colors the cells of a column that does not wrap. */
  paint?(row: Row, style: Style): (text: string) => string;
  /** Wraps text that is wider than the column and keeps its line breaks; otherwise the text is truncated. */
  readonly wrap?: true;
}

/** Functions that color text, or return it unchanged if the stream has no color. */
export type Style = Readonly<Record<'bold' | 'dim' | 'red' | 'green' | 'yellow', (text: string) => string>>;

export interface TextContext {
  readonly style: Style;
  /** Wall clock, epoch milliseconds. */
  readonly now: number;
  /** Lays out a table for this stream; only for views that declare `tables`. */
  readonly table: <Row>(columns: readonly Column<Row>[], rows: readonly Row[]) => Iterable<string>;
}

export interface View<Data> {
  /** Returns the value that `--json` prints; the default is the result itself. */
  json?(data: Data): unknown;
  /** Text for people, in pieces that end in a line break. */
  text(data: Data, context: TextContext): Iterable<string>;
  /** Replaces `text` if stdout is not a terminal. */
  bytes?(data: Data): Uint8Array;
  /** Rows for csv, tsv and ndjson; ndjson prints the rows themselves. */
  readonly records?: { columns(data: Data): readonly Column<never>[]; rows(data: Data): readonly unknown[] };
  /** Whether `text` shows the quota, so that no quota line follows. */
  readonly showsQuota?: true;
  /** Whether `text` uses tables: their code is loaded only then. */
  readonly tables?: true;
  /** Returns the error to report after the result, for the exit code. */
  failure?(data: Data): PetstoreError | undefined;
  /** Describes the change that was made, if any, for a message if the result cannot be printed. */
  change?(data: Data): string | undefined;
}
