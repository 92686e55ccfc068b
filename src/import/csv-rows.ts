// Rows from CSV and TSV (RFC 4180): a header with `name`, perhaps `description` and `id`; quoted line breaks, CRLF and LF.
import { pipeline } from 'node:stream/promises';
import type { CsvError } from 'csv-parse';
import { parse } from 'csv-parse';
import { MAX_ROW } from './json-rows.ts';
import { quoted } from './problems.ts';
import type { RowSink } from './row-rules.ts';
import { KNOWN_FIELDS, takeText } from './row-rules.ts';

/** One field; undefined where it is empty and without quotes: `""` is an empty text, nothing is no text. */
type Field = string | undefined;

/** Where the columns are. */
interface Header {
  readonly width: number;
  readonly name: number;
  /** -1 where there is none. */
  readonly description: number;
}

/**
 * Reads delimited rows.
 * @param text the file in pieces
 * @param delimiter one character
 * @param sink where the rows go
 * @throws PetstoreError `usage` where the header is wrong or quotes do not match: what follows cannot be told apart then
 */
export async function readDelimited(text: AsyncIterable<string>, delimiter: string, sink: RowSink): Promise<void> {
  const parser = parse({
    delimiter,
    record_delimiter: ['\r\n', '\n'],
    relax_column_count: true,
    skip_empty_lines: true,
    max_record_size: MAX_ROW,
    info: true,
    cast: (value, { quoting }) => (value === '' && !quoting ? undefined : value),
  });
  // A failure of either side reaches the loop below.
  const fed = pipeline(text, parser).catch(() => undefined);
  let header: Header | undefined;
  try {
    for await (const { record, info } of parser as AsyncIterable<{ record: Field[]; info: { lines: number } }>) {
      const line = info.lines - lineBreaks(record);
      if (header) takeRecord(record, header, line, sink);
      else header = readHeader(record, delimiter, line, sink);
    }
  } catch (error) {
    throw isCsvError(error) ? sink.problems.fatal(lineOf(error), explain(error.code)) : error;
  } finally {
    await fed;
  }
}

// The parser knows the line a record ends on; it begins as many lines before as its fields hold.
function lineBreaks(record: readonly Field[]): number {
  let count = 0;
  for (const field of record) {
    for (let at = field?.indexOf('\n') ?? -1; at >= 0; at = field?.indexOf('\n', at + 1) ?? -1) count++;
  }
  return count;
}

function readHeader(record: readonly Field[], delimiter: string, line: number, sink: RowSink): Header {
  const names = record.map((field) => field ?? '');
  const name = names.indexOf('name');
  const repeated = names.find((field, at) => KNOWN_FIELDS.has(field) && names.indexOf(field) !== at);
  if (repeated !== undefined) throw sink.problems.fatal(line, `the header names the column ${quoted(repeated)} twice`);
  const unknown = names.find((field) => !KNOWN_FIELDS.has(field));
  if (name < 0) throw sink.problems.fatal(line, `the header has no column "name"${otherDelimiter(names, delimiter)}`);
  if (unknown !== undefined && !sink.ignoreExtra) {
    throw sink.problems.fatal(line, `unknown column ${quoted(unknown)} (--ignore-extra passes over it)`);
  }
  return { width: names.length, name, description: names.indexOf('description') };
}

function otherDelimiter(names: readonly string[], delimiter: string): string {
  const other = [';', '\t', ',', '|'].find((char) => char !== delimiter && names.some((field) => field.includes(char)));
  if (other === undefined) return '';
  return other === '\t' ? '; --delimiter tab may help' : `; --delimiter "${other}" may help`;
}

function takeRecord(record: readonly Field[], header: Header, line: number, sink: RowSink): void {
  if (record.length !== header.width) {
    sink.problems.add(line, `${record.length} fields where the header has ${header.width}`);
    return;
  }
  takeText(record[header.name] ?? '', header.description < 0 ? undefined : record[header.description], line, sink);
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
