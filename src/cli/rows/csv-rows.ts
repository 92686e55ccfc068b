// Rows from CSV and TSV (RFC 4180): a header with `name` and optionally `description`, in any case and order.
import { CsvError, parse } from 'csv-parse/sync';
import type { PetstoreError } from '../../errors.ts';
import type { RowValidator } from '../../import/row-validator.ts';
import { unusableError } from '../../import/row-validator.ts';
import { invalidValueError } from '../../settings/check-options.ts';
import { formatSome, quoted } from '../../text/format.ts';
import { IGNORE_EXTRA } from '../hints.ts';

const MOST_NAMED = 20;
const ADD_HEADER = 'add a header line with a column "name", or use --map name=COLUMN';

export interface DelimitedOptions {
  readonly delimiter?: string | undefined;
  /** For example `name=Species`. */
  readonly map?: readonly string[] | undefined;
  readonly ignoreExtra?: boolean | undefined;
}

type Field = 'name' | 'description';
type Cells = readonly (string | undefined)[];

type AddRecord = (cells: Cells, line: number) => void;

/**
 * @param usual the delimiter of the format, which `--delimiter` overrides; undefined if it must be detected
 * @throws PetstoreError `usage` if the header is wrong or quotes do not match
 */
export function readDelimited(
  source: string,
  usual: string | undefined,
  options: DelimitedOptions,
  validator: RowValidator,
): void {
  // Excel reads the delimiter from such a first line. An empty line replaces it, so that the other lines keep their numbers.
  const [separatorLine = '', separator] = /^"?sep=(.)"?\r?\n/i.exec(source) ?? [];
  const text = separator === undefined ? source : `\n${source.slice(separatorLine.length)}`;
  // `""` is an empty description, and an empty cell a missing one.
  const hasEmptyText = text.includes('""');
  const delimiter = parseDelimiter(options.delimiter) ?? usual ?? separator ?? detectDelimiter(text);
  let addRecord: AddRecord | undefined;
  /** The last line of the last record. */
  let lastLine = 0;
  try {
    parse(text, {
      delimiter,
      // Old Macintosh files end lines with a lone CR.
      record_delimiter: ['\r\n', '\n', '\r'],
      relax_column_count: true,
      skip_empty_lines: true,
      // Cast only if needed: with Node.js 20, parsing takes three times as long with a cast.
      cast: hasEmptyText && ((value, { quoting }) => (value === '' && !quoting ? undefined : value)),
      on_record: (values: Cells, { lines }) => {
        lastLine = lines;
        const cells = hasEmptyText ? values : values.map((value) => value || undefined);
        const line = firstLine(cells, lastLine);
        if (addRecord) addRecord(cells, line);
        else addRecord = readHeader(cells, line, options, validator);
        return null;
      },
    });
  } catch (error) {
    if (error instanceof CsvError) throw quoteError(error, lastLine + 1, validator);
    throw error;
  }
}

const DOUBLE_QUOTES = 'write "" for each quote in the field';

// Replaces the parser's messages, which quote the file.
function quoteError(error: CsvError, firstLine: number, validator: RowValidator): PetstoreError {
  const line = Number(error['lines']);
  if (error.code === 'INVALID_OPENING_QUOTE')
    return validator.fatalError('unquoted field contains a quote', line, `quote the field, and ${DOUBLE_QUOTES}`);
  if (error.code === 'CSV_QUOTE_NOT_CLOSED') return validator.fatalError('missing closing quote', firstLine);
  if (line === firstLine) return validator.fatalError('text after closing quote', line, DOUBLE_QUOTES);
  return validator.fatalError(`missing closing quote, or text after the quote on line ${line}`, firstLine);
}

function parseDelimiter(typed: string | undefined): string | undefined {
  const delimiter = typed === 'tab' || typed === '\\t' ? '\t' : typed;
  if (delimiter === undefined || /^[^"\r\n\p{Surrogate}\ufeff]$/u.test(delimiter)) return delimiter;
  throw invalidValueError(typed, '--delimiter', 'use one character such as ";", or the word tab');
}

function parseMap(typed: readonly string[] = []): ReadonlyMap<Field, string> {
  const map = new Map<Field, string>();
  const hint = 'use --map name=COLUMN or --map description=COLUMN';
  for (const mapping of typed) {
    const [, field, column = ''] = /^(name|description)=(.+)$/s.exec(mapping) ?? [];
    if (field === undefined) throw invalidValueError(mapping, '--map', hint);
    if (map.has(field as Field))
      throw unusableError('--map', `${field} is given twice`, `use --map ${field}=COLUMN once`);
    map.set(field as Field, column.trim());
  }
  return map;
}

// Returns the most frequent delimiter of the header, outside quotes; a comma if there is none.
function detectDelimiter(text: string): string {
  const header = (text.trimStart().split(/[\r\n]/, 1)[0] ?? '').replace(/"[^"]*"/g, '');
  const count = (delimiter: string): number => header.split(delimiter).length;
  return [',', ';', '\t', '|'].sort((a, b) => count(b) - count(a))[0] as string;
}

// The parser reports only the line on which a record ends.
function firstLine(cells: Cells, lastLine: number): number {
  return cells.reduce((line, cell) => line - ((cell?.split('\n').length ?? 1) - 1), lastLine);
}

/** @returns the function that adds the records below the header */
function readHeader(
  heads: Cells,
  headLine: number,
  { map: mappings, ignoreExtra }: DelimitedOptions,
  validator: RowValidator,
): AddRecord {
  const map = parseMap(mappings);
  const columns = heads.map((head) => head?.trim() ?? '');
  const positionOf = (field: Field): number => {
    const wanted = map.get(field) ?? field;
    const [at = -1, another] = [...columns.keys()].filter((position) => isSame(columns[position], wanted));
    if (another !== undefined) throw validator.fatalError(`duplicate column ${quoted(wanted)} in the header`, headLine);
    if (at >= 0 || (field === 'description' && !map.has(field))) return at;
    const hint = map.has(field) ? 'use one of these columns for --map' : ADD_HEADER;
    throw validator.fatalError(`no column ${quoted(wanted)}; found ${formatColumns(columns)}`, headLine, hint);
  };
  const [name, description] = [positionOf('name'), positionOf('description')];
  if (name === description)
    throw unusableError('--map', 'uses the same column for name and description', 'map another column');
  const isExtra = (at: number): boolean =>
    columns[at] !== '' && at !== name && at !== description && !isSame(columns[at], 'id');
  const extra = ignoreExtra ? [] : [...columns.keys()].filter(isExtra);
  // Excel leaves out the empty cells at the end of some rows.
  const namedWidth = columns.findLastIndex((column) => column !== '') + 1;
  return (cells, line) => {
    // Skip the rows of empty cells that spreadsheets write.
    if (columns.length > 1 && cells.every((cell) => !cell)) return;
    if (extra.some((at) => cells[at])) {
      const what = extra.length === 1 ? 'column' : 'columns';
      const problem = `unknown ${what} ${formatColumns(extra.map((at) => columns[at] ?? ''))}`;
      throw validator.fatalError(problem, headLine, IGNORE_EXTRA);
    }
    if (cells.length < namedWidth || cells.slice(columns.length).some((cell) => cell)) {
      const count = cells.length === 1 ? '1 field' : `${cells.length} fields`;
      validator.addInvalid(`the row has ${count}, but the header has ${columns.length}`, line);
    } else if (!ignoreExtra && cells.some((cell, at) => cell && columns[at] === '')) {
      validator.addExtra('the row has a value in a column without a name', line);
    } else validator.add({ name: cells[name] ?? '', description: cells[description] }, line);
  };
}

function formatColumns(columns: readonly string[]): string {
  const named = columns.filter((column) => column !== '');
  return formatSome(named.map(quoted), MOST_NAMED) || 'no names';
}

function isSame(column: string | undefined, name: string): boolean {
  return column?.toLowerCase() === name.toLowerCase();
}
