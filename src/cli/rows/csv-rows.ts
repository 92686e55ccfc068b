// Rows from CSV and TSV (RFC 4180): a header with `name` and optionally `description`, in any case and order.
import { CsvError, parse } from 'csv-parse/sync';
import type { PetstoreError } from '../../errors.ts';
import type { RowOptions, RowValidator } from '../../import/row-validator.ts';
import { unusableError } from '../../import/row-validator.ts';
import { invalidValueError } from '../../settings/check-options.ts';
import { closestMatch } from '../../text/did-you-mean.ts';
import { quoted } from '../../text/format.ts';
import { ignoreExtraHint } from '../hints.ts';

const MOST_NAMED = 20;
/** Words of the usual headings, by which a first line is recognized as a header. */
const USUAL: readonly RegExp[] = [
  /^(?:#|id|nr|no|number|key|code|date|status|colou?r)$/i,
  /^(?:\p{L}*name|nom|nombre|nome|titles?|titel|labels?)$/iu,
  /^(?:categor|kategor|desc|beschreib|bezeichn|text|note|comment|info|detail)/i,
  /^(?:species|breeds?|animals?|tiere?|pets?|kinds?|types?|typ|art)$/i,
];
const DESCRIPTION = /^(?:desc|beschreib|bezeichn|text|note|comment|info|detail)/i;

type Field = 'name' | 'description';
type Cells = readonly (string | undefined)[];

/** The positions of the columns; -1 if the file has no such column. */
interface Header {
  readonly columns: readonly string[];
  readonly name: number;
  readonly description: number;
}

/**
 * @param usual the delimiter of the format, which `--delimiter` overrides; undefined if it must be detected
 * @throws PetstoreError `usage` if the header is wrong or quotes do not match
 */
export function readDelimited(source: string, usual: string | undefined, validator: RowValidator): void {
  // Excel reads the delimiter from such a first line. An empty line replaces it, so that the other lines keep their numbers.
  const [separatorLine = '', separator] = /^"?sep=(.)"?\r?\n/i.exec(source) ?? [];
  const text = separator === undefined ? source : `\n${source.slice(separatorLine.length)}`;
  // `""` is an empty description, and an empty cell a missing one.
  const hasEmptyText = text.includes('""');
  const delimiter = parseDelimiter(validator.options.delimiter) ?? usual ?? separator ?? detectDelimiter(text);
  let header: Header | undefined;
  /** The last line of the last record. */
  let lastLine = 0;
  try {
    parse(text, {
      delimiter,
      // Old Macintosh files end lines with a lone CR.
      record_delimiter: text.includes('\n') ? ['\r\n', '\n'] : '\r',
      relax_column_count: true,
      skip_empty_lines: true,
      // Cast only if needed: casting takes five times as long as the rest.
      cast: hasEmptyText && ((value, { quoting }) => (value === '' && !quoting ? undefined : value)),
      on_record: (values: Cells, { lines }) => {
        lastLine = lines;
        const cells = hasEmptyText ? values : values.map((value) => value || undefined);
        const line = firstLine(cells, lastLine);
        if (header) addRecord(cells, line, header, validator);
        else header = readHeader(cells, line, validator);
        return null;
      },
    });
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    const failedLine = Number(error['lines'] ?? 1);
    const record = text.split('\n').slice(lastLine, failedLine).join('\n');
    const openedLine = lastLine + openingLine(record, delimiter);
    throw quoteError(error.code, openedLine, failedLine, validator);
  }
}

/** Replaces the parser's messages, which quote the file, and names the line of the mistake: that of the opening quote. */
function quoteError(code: string, openedLine: number, failedLine: number, validator: RowValidator): PetstoreError {
  if (code === 'INVALID_OPENING_QUOTE')
    return validator.fatalError(
      'quote inside an unquoted field (quote the field, and write "" for the quote)',
      failedLine,
    );
  if (code === 'CSV_QUOTE_NOT_CLOSED') return validator.fatalError('missing closing quote', openedLine);
  const message =
    openedLine < failedLine
      ? `missing closing quote, or text after the quote on line ${failedLine}`
      : 'text after closing quote (write "" for a quote inside a field)';
  return validator.fatalError(message, openedLine);
}

// Returns the line, from 1, of the opening quote of the first field whose closing quote is missing or precedes other text.
function openingLine(text: string, delimiter: string): number {
  const afterField = [delimiter, '\r', '\n'];
  let opened = -1;
  for (let at = text.indexOf('"'); at >= 0; at = text.indexOf('"', at + 1)) {
    const next = text[at + 1] ?? '';
    if (opened < 0) opened = at;
    else if (next === '"') at++;
    else if (afterField.includes(next)) opened = -1;
    else break;
  }
  return text.slice(0, opened).split('\n').length;
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

function readHeader(cells: Cells, line: number, validator: RowValidator): Header {
  const { options } = validator;
  const map = parseMap(options.map);
  const columns = cells.map((cell) => cell?.trim() ?? '');
  const positionOf = (field: Field): number => {
    const wanted = map.get(field) ?? field;
    const [at = -1, another] = [...columns.keys()].filter((position) => isSame(columns[position], wanted));
    if (another !== undefined) throw validator.fatalError(`duplicate column ${quoted(wanted)} in the header`, line);
    if (at >= 0 || (field === 'description' && !map.has(field))) return at;
    const hint = map.has(field) ? 'use one of these columns for --map' : hintForHeader(columns, options);
    throw validator.fatalError(`no column ${quoted(wanted)}; found ${list(columns)}`, line, hint);
  };
  const [name, description] = [positionOf('name'), positionOf('description')];
  const isExtra = (column: string, at: number): boolean =>
    column !== '' && at !== name && at !== description && !isSame(column, 'id');
  const extra = options.ignoreExtra ? [] : columns.filter(isExtra);
  if (extra.length > 0) {
    const what = extra.length === 1 ? 'column' : 'columns';
    const isText = description < 0 && extra.some((column) => DESCRIPTION.test(column));
    const hint = isText ? mapHint('description') : ignoreExtraHint(extra.length);
    throw validator.fatalError(`unknown ${what} ${list(extra)}`, line, hint);
  }
  return { columns, name, description };
}

function hintForHeader(columns: readonly string[], { delimiter }: RowOptions): string {
  const [only = '', ...others] = columns;
  if (others.length === 0 && delimiter) return 'check --delimiter, or omit it to detect the delimiter';
  if (others.length === 0 && /name\b.*\W|\W.*\bname/i.test(only)) return 'use --delimiter to set the field separator';
  const misspelled = columns.find((column) => /^\w+$/.test(column) && closestMatch('name', [column.toLowerCase()]));
  if (misspelled) return `use --map name=${misspelled}`;
  if (columns.some(isUsual)) return mapHint('name');
  return 'does the file have a header line? If not, add one with a column "name"';
}

function mapHint(field: Field): string {
  return `choose the column with --map ${field}=COLUMN`;
}

function isUsual(column: string): boolean {
  const words = column.split(/[\s_-]+/);
  return words.length <= 3 && words.some((word) => USUAL.some((usual) => usual.test(word)));
}

function list(columns: readonly string[]): string {
  const named = columns.filter((column) => column !== '');
  return named.slice(0, MOST_NAMED).map(quoted).join(', ');
}

function isSame(column: string | undefined, name: string): boolean {
  return column?.toLowerCase() === name.toLowerCase();
}

function addRecord(cells: Cells, line: number, header: Header, validator: RowValidator): void {
  const { columns, name, description } = header;
  // Skip the rows of empty cells that spreadsheets write.
  if (columns.length > 1 && cells.every((cell) => !cell)) return;
  if (cells.length !== columns.length) {
    const count = cells.length === 1 ? '1 field' : `${cells.length} fields`;
    validator.addInvalid(`the row has ${count}, but the header has ${columns.length}`, line);
  } else if (!validator.options.ignoreExtra && cells.some((cell, at) => cell && columns[at] === '')) {
    validator.addExtra('the row has a value in a column without a name', line);
  } else validator.add({ name: cells[name] ?? '', description: cells[description] }, line);
}
