// Rows from CSV and TSV (RFC 4180): a header with `name`, optionally `description` and `id`, in any case and order.
import type { CsvError } from 'csv-parse';
import { parse } from 'csv-parse/sync';
import type { RowValidator } from './validate-row.ts';
import { KNOWN_FIELDS, quoted } from './validate-row.ts';

/** Column numbers; -1: the file has no such column. */
interface Header {
  readonly width: number;
  readonly name: number;
  readonly description: number;
}

type Fields = readonly (string | undefined)[];

/** How a file is to be read. */
export interface CsvOptions {
  /** Undefined: detected. */
  readonly delimiter: string | undefined;
  /** The columns of fields, as typed: `name=Beschreibung`. */
  readonly map: readonly string[];
}

/** @throws PetstoreError `usage` where the header is wrong or quotes do not match */
export function readDelimited(source: string, options: CsvOptions, validator: RowValidator): void {
  // Excel's own first line.
  const [separator = '', stated] = /^sep=(.)\r?\n/i.exec(source) ?? [];
  const text = source.slice(separator.length);
  const delimiter = options.delimiter ?? stated ?? detectDelimiter(text);
  const linesBefore = separator === '' ? 0 : 1;
  let header: Header | undefined;
  try {
    parse(text, {
      delimiter,
      record_delimiter: ['\r\n', '\n'],
      relax_column_count: true,
      skip_empty_lines: true,
      // `""` is an empty text, an empty field is a missing one.
      cast: (value, { quoting }) => (value === '' && !quoting ? undefined : value),
      on_record: (fields: Fields, { lines }) => {
        const line = firstLine(fields, lines) + linesBefore;
        if (header) addRecord(fields, line, header, validator);
        else header = readHeader(fields, line, options.map, validator);
        return null;
      },
    });
  } catch (error) {
    throw isCsvError(error) ? validator.fatal(explain(error.code), (error.lines ?? 1) + linesBefore) : error;
  }
}

// What the header has most of, outside quotes; a comma where it has none.
function detectDelimiter(text: string): string {
  const header = (text.trimStart().split('\n', 1)[0] ?? '').replace(/"[^"]*"/g, '');
  const count = (delimiter: string): number => header.split(delimiter).length;
  return [',', ';', '\t'].sort((a, b) => count(b) - count(a))[0] ?? ',';
}

// The parser knows the line on which a record ends.
function firstLine(fields: Fields, lastLine: number): number {
  return fields.reduce((line, field) => line - ((field?.split('\n').length ?? 1) - 1), lastLine);
}

function readHeader(fields: Fields, line: number, map: readonly string[], validator: RowValidator): Header {
  const columns = fields.map((field) => field?.trim() ?? '');
  const names = columns.map((column) => (KNOWN_FIELDS.has(column.toLowerCase()) ? column.toLowerCase() : column));
  for (const mapping of map) {
    const [field = '', column = ''] = mapping.split(/=(.*)/s);
    const at = columns.indexOf(column.trim());
    if (!KNOWN_FIELDS.has(field))
      throw validator.fatal(`--map ${quoted(mapping)}: expected name=COLUMN or description=COLUMN`, line);
    if (at < 0) throw validator.fatal(`--map: no column ${quoted(column)}; ${found(columns)}`, line);
    names[at] = field;
  }
  const repeated = names.find((name, at) => KNOWN_FIELDS.has(name) && names.indexOf(name) !== at);
  if (repeated !== undefined) throw validator.fatal(`the header has two columns ${quoted(repeated)}`, line);
  const name = names.indexOf('name');
  if (name < 0) {
    const example = quoted(columns[0] ?? '').slice(1, -1);
    throw validator.fatal(
      `the header has no column "name"; ${found(columns)}; say which one it is with --map name="${example}"`,
      line,
    );
  }
  const unknown = validator.unknownField(names, 'column');
  if (unknown !== undefined) throw validator.fatal(unknown, line);
  return { width: names.length, name, description: names.indexOf('description') };
}

function found(columns: readonly string[]): string {
  return `found: ${columns.slice(0, 20).map(quoted).join(', ')}`;
}

function addRecord(fields: Fields, line: number, header: Header, validator: RowValidator): void {
  const { width, name, description } = header;
  if (fields.length === width) validator.addRow(fields[name] ?? '', fields[description], line);
  else validator.addInvalid(`has ${fieldCount(fields.length)} but the header has ${width}`, line);
}

function fieldCount(count: number): string {
  return count === 1 ? '1 field' : `${count} fields`;
}

function isCsvError(error: unknown): error is CsvError & { readonly lines?: number } {
  return typeof (error as { code?: unknown }).code === 'string' && /^(?:CSV|INVALID)_/.test((error as CsvError).code);
}

// The parser's own messages quote the file.
function explain(code: string): string {
  if (code === 'CSV_QUOTE_NOT_CLOSED') return 'a quoted field is not closed before the file ends';
  if (code === 'INVALID_OPENING_QUOTE') return 'a quote inside a field: quote the field and double the quote';
  return 'text after a closing quote: inside a quoted field, a quote must be doubled';
}
