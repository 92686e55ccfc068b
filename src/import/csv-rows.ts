// Rows from CSV and TSV (RFC 4180): a header with `name`, perhaps `description` and `id`; quoted line breaks, CRLF and LF.
import { pipeline } from 'node:stream/promises';
import type { CsvError } from 'csv-parse';
import { parse } from 'csv-parse';
import { parse as parseOnce } from 'csv-parse/sync';
import { MAX_ROW } from './json-rows.ts';
import type { RowSink } from './validate-row.ts';
import { KNOWN_FIELDS, takeText } from './validate-row.ts';
import { quoted } from './validation-errors.ts';

/** Where the columns are. */
interface Header {
  readonly delimiter: string;
  readonly width: number;
  readonly name: number;
  /** -1 where there is none. */
  readonly description: number;
}

/** One record as the parser hands it over. */
interface Parsed {
  readonly record: string[];
  /** Its source. */
  readonly raw: string;
  /** `lines`: the line it ends on. */
  readonly info: { readonly lines: number };
}

const RULES = {
  record_delimiter: ['\r\n', '\n'],
  relax_column_count: true,
  skip_empty_lines: true,
  max_record_size: MAX_ROW,
};

/**
 * Reads delimited rows.
 * @param text the file in pieces
 * @param delimiter one character
 * @param sink where the rows go
 * @throws PetstoreError `usage` where the header is wrong or quotes do not match: what follows cannot be told apart then
 */
export async function readDelimited(text: AsyncIterable<string>, delimiter: string, sink: RowSink): Promise<void> {
  const parser = parse({ ...RULES, delimiter, info: true, raw: true });
  // A failure of either side reaches the loop below.
  const fed = pipeline(text, parser).catch(() => undefined);
  let header: Header | undefined;
  try {
    for await (const parsed of parser as AsyncIterable<Parsed>) {
      if (header) takeRecord(parsed, header, sink);
      else header = readHeader(parsed, delimiter, sink);
    }
  } catch (error) {
    throw isCsvError(error) ? sink.problems.fatal(lineOf(error), explain(error.code)) : error;
  } finally {
    await fed;
  }
}

// The parser knows the line a record ends on; it begins as many lines before as its fields hold.
function lineOfRecord({ record, info }: Parsed): number {
  let line = info.lines;
  for (const field of record) for (let at = field.indexOf('\n'); at >= 0; at = field.indexOf('\n', at + 1)) line--;
  return line;
}

function readHeader(parsed: Parsed, delimiter: string, sink: RowSink): Header {
  const names = parsed.record;
  const line = lineOfRecord(parsed);
  const name = names.indexOf('name');
  const repeated = names.find((field, at) => KNOWN_FIELDS.has(field) && names.indexOf(field) !== at);
  if (repeated !== undefined) throw sink.problems.fatal(line, `the header names the column ${quoted(repeated)} twice`);
  const unknown = names.find((field) => !KNOWN_FIELDS.has(field));
  if (name < 0) throw sink.problems.fatal(line, `the header has no column "name"${otherDelimiter(names, delimiter)}`);
  if (unknown !== undefined && !sink.ignoreExtra) {
    throw sink.problems.fatal(line, `unknown column ${quoted(unknown)} (--ignore-extra passes over it)`);
  }
  return { delimiter, width: names.length, name, description: names.indexOf('description') };
}

function otherDelimiter(names: readonly string[], delimiter: string): string {
  const other = [';', '\t', ',', '|'].find((char) => char !== delimiter && names.some((field) => field.includes(char)));
  if (other === undefined) return '';
  return other === '\t' ? '; --delimiter tab may help' : `; --delimiter "${other}" may help`;
}

function takeRecord(parsed: Parsed, header: Header, sink: RowSink): void {
  const { record } = parsed;
  const line = lineOfRecord(parsed);
  sink.seen++;
  if (record.length !== header.width) {
    sink.problems.add(line, `${record.length} fields where the header has ${header.width}`, sink.seen);
    return;
  }
  takeText(record[header.name] ?? '', descriptionOf(parsed, header), line, sink);
}

// `""` is an empty text, nothing is no text. Only the parser's slow way tells them apart: it goes for those rows alone.
function descriptionOf({ record, raw }: Parsed, { delimiter, description }: Header): string | undefined {
  const text = description < 0 ? undefined : record[description];
  if (text !== '' || !raw.includes('""')) return text === '' ? undefined : text;
  const cast = (value: string, { quoting }: { readonly quoting: boolean }): string | undefined =>
    value === '' && !quoting ? undefined : value;
  const [again] = parseOnce(raw, { ...RULES, delimiter, cast }) as (string | undefined)[][];
  return again?.[description];
}

function isCsvError(error: unknown): error is CsvError & { readonly lines?: number } {
  return typeof (error as { code?: unknown }).code === 'string' && /^(?:CSV|INVALID)_/.test((error as CsvError).code);
}

function lineOf(error: { readonly lines?: number }): number {
  return error.lines ?? 1;
}

// Its own messages quote the file.
function explain(code: string): string {
  if (code === 'CSV_QUOTE_NOT_CLOSED') return 'a quoted field is not closed before the file ends';
  if (code === 'CSV_MAX_RECORD_SIZE') return 'a row is longer than 1 MB';
  if (code === 'INVALID_OPENING_QUOTE') return 'a quote inside a field: put the field in quotes and double the quote';
  return 'something follows a closing quote: a quote inside a quoted field is doubled';
}
