// Rows from CSV and TSV (RFC 4180): a header with `name` and optionally `description`, in any case and order.
import { CsvError, parse } from 'csv-parse/sync';
import { PetstoreError } from '../errors.ts';
import type { RowValidator } from './validate-row.ts';
import { quoted } from './validate-row.ts';

export interface CsvOptions {
  /** Undefined: taken from a `sep=` line, otherwise detected in the header. */
  readonly delimiter: string | undefined;
  /** The unparsed values of `--map`, such as `name=Beschreibung`. */
  readonly map: readonly string[];
}

const MOST_NAMED = 20;

type Field = 'name' | 'description';
type Cells = readonly (string | undefined)[];

/** The positions of the columns; -1 if the file has no such column. */
interface Header {
  readonly columns: readonly string[];
  readonly name: number;
  readonly description: number;
}

/** @throws PetstoreError `usage` if the header is wrong or quotes do not match */
export function readDelimited(source: string, options: CsvOptions, validator: RowValidator): void {
  const map = parseMap(options.map);
  // Excel reads the delimiter from such a first line.
  const [separatorLine = '', separator] = /^"?sep=(.)"?\r?\n/i.exec(source) ?? [];
  const text = source.slice(separatorLine.length);
  const skipped = separatorLine === '' ? 0 : 1;
  let header: Header | undefined;
  try {
    parse(text, {
      delimiter: options.delimiter ?? separator ?? detectDelimiter(text),
      // Old Macintosh files end lines with a lone CR.
      record_delimiter: text.includes('\n') ? ['\r\n', '\n'] : '\r',
      relax_column_count: true,
      skip_empty_lines: true,
      // `""` is an empty string, an empty cell a missing value.
      cast: (value, { quoting }) => (value === '' && !quoting ? undefined : value),
      on_record: (cells: Cells, { lines }) => {
        const line = firstLine(cells, lines) + skipped;
        if (header) addRecord(cells, line, header, validator);
        else header = readHeader(cells, line, map, validator);
        return null;
      },
    });
  } catch (error) {
    throw error instanceof CsvError
      ? validator.fatal(explain(error.code), Number(error['lines'] ?? 1) + skipped)
      : error;
  }
}

function parseMap(typed: readonly string[]): ReadonlyMap<Field, string> {
  return new Map(
    typed.map((mapping) => {
      const [, field, column = ''] = /^(name|description)=(.+)$/s.exec(mapping) ?? [];
      if (field !== undefined) return [field as Field, column.trim()];
      throw new PetstoreError('usage', `invalid value ${quoted(mapping)} for --map`, {
        hint: 'use `--map name=COLUMN` or `--map description=COLUMN`',
      });
    }),
  );
}

// Returns the most frequent delimiter of the header, outside quotes; a comma if there is none.
function detectDelimiter(text: string): string {
  const header = (text.trimStart().split(/[\r\n]/, 1)[0] ?? '').replace(/"[^"]*"/g, '');
  const count = (delimiter: string): number => header.split(delimiter).length;
  return [',', ';', '\t'].sort((a, b) => count(b) - count(a))[0] as string;
}

// The parser reports only the line on which a record ends.
function firstLine(cells: Cells, lastLine: number): number {
  return cells.reduce((line, cell) => line - ((cell?.split('\n').length ?? 1) - 1), lastLine);
}

function readHeader(cells: Cells, line: number, map: ReadonlyMap<Field, string>, validator: RowValidator): Header {
  const columns = cells.map((cell) => cell?.trim() ?? '');
  const positionOf = (field: Field): number => {
    const wanted = map.get(field) ?? field;
    const [at = -1, another] = [...columns.keys()].filter((position) => isSame(columns[position], wanted));
    if (another !== undefined) throw validator.fatal(`duplicate column ${quoted(wanted)} in the header`, line);
    if (at >= 0 || (field === 'description' && !map.has(field))) return at;
    const hint = map.has(field) ? 'use one of these columns for --map' : mapHint(field, columns[0]);
    throw validator.fatal(`no column ${quoted(wanted)}; found ${list(columns)}`, line, hint);
  };
  const [name, description] = [positionOf('name'), positionOf('description')];
  const isExtra = (column: string, at: number): boolean =>
    column !== '' && at !== name && at !== description && !isSame(column, 'id');
  const extra = validator.ignoreExtra ? [] : columns.filter(isExtra);
  if (extra.length > 0) {
    const hint = description < 0 ? mapHint('description', extra[0]) : undefined;
    throw validator.fatal(`unknown ${extra.length === 1 ? 'column' : 'columns'} ${list(extra)}`, line, hint);
  }
  return { columns, name, description };
}

function list(columns: readonly string[]): string {
  const named = columns.filter((column) => column !== '');
  return named.slice(0, MOST_NAMED).map(quoted).join(', ');
}

function isSame(column: string | undefined, name: string): boolean {
  return column?.toLowerCase() === name.toLowerCase();
}

// The hint names only a column that a shell takes literally.
function mapHint(field: Field, column = ''): string {
  const mapping = `${field}=${/^[\p{L}\p{N} ._-]{1,40}$/u.test(column) ? column : 'COLUMN'}`;
  return `choose the column with \`--map ${mapping.includes(' ') ? `"${mapping}"` : mapping}\``;
}

function addRecord(cells: Cells, line: number, header: Header, validator: RowValidator): void {
  const { columns, name, description } = header;
  // Skip the rows of empty cells that spreadsheets write.
  if (columns.length > 1 && cells.every((cell) => cell === undefined)) return;
  if (cells.length !== columns.length) {
    const count = cells.length === 1 ? '1 field' : `${cells.length} fields`;
    validator.addInvalid(`the row has ${count}, but the header has ${columns.length}`, line);
  } else if (!validator.ignoreExtra && cells.some((cell, at) => cell !== undefined && columns[at] === '')) {
    validator.addInvalid('the row has a value in a column without a name', line);
  } else validator.add({ name: cells[name] ?? '', description: cells[description] }, line);
}

// Replace the parser's messages: they quote the file.
function explain(code: string): string {
  if (code === 'CSV_QUOTE_NOT_CLOSED') return 'unexpected end of file (missing closing quote)';
  if (code === 'INVALID_OPENING_QUOTE') return 'quote inside an unquoted field (quote the field and write "" for it)';
  return 'text after closing quote (write "" for a quote inside a field)';
}
