// A whole file to rows: detects the format, decodes the text, checks every row before anything is sent.
import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import type { NewCategory } from '../api/types.ts';
import { PetstoreError } from '../errors.ts';
import { escapeControls } from '../escape.ts';
import type { InputFile } from './input-file.ts';
import { RowValidator } from './validate-row.ts';

export interface RowOptions {
  /** The field separator as typed; makes the file a delimited one whatever its name. */
  readonly delimiter: string | undefined;
  readonly ignoreExtra: boolean;
}

type FileFormat = 'json' | 'ndjson' | { readonly delimiter: string };

const BY_EXTENSION: Readonly<Record<string, FileFormat>> = {
  '.json': 'json',
  '.ndjson': 'ndjson',
  '.jsonl': 'ndjson',
  '.csv': { delimiter: ',' },
  '.tsv': { delimiter: '\t' },
  '.tab': { delimiter: '\t' },
};

/**
 * @returns the rows in the order of the file; none of an empty list
 * @throws PetstoreError `usage` with every bad row in `problems`
 */
export async function readRows(file: InputFile, options: RowOptions): Promise<readonly NewCategory[]> {
  const chosen = options.delimiter === undefined ? undefined : { delimiter: parseDelimiter(options.delimiter) };
  const validator = new RowValidator(file.label, options.ignoreExtra);
  const text = decodeUtf8(file.bytes, validator);
  const format = chosen ?? BY_EXTENSION[file.extension] ?? detectFormat(text);
  if (format === 'json') readJsonArray(text, validator);
  else if (format === 'ndjson') readNdjson(text, validator);
  else (await import('./csv-rows.ts')).readDelimited(text, format.delimiter, validator);
  validator.check();
  // `[]` or a header alone is an empty list; no text at all means that the command before the pipe failed.
  if (validator.rows.length === 0 && text.trim() === '') {
    const hint = 'expected a JSON array, one JSON object per line, or CSV or TSV with a header';
    throw new PetstoreError('usage', `${escapeControls(file.label)} contains no rows`, { hint });
  }
  return validator.rows;
}

function parseDelimiter(typed: string): string {
  const named: Readonly<Record<string, string>> = { tab: '\t', '\\t': '\t', comma: ',', semicolon: ';', pipe: '|' };
  const delimiter = named[typed.toLowerCase()] ?? typed;
  if ([...delimiter].length === 1 && !/["\r\n\p{Surrogate}\ufeff]/u.test(delimiter)) return delimiter;
  throw new PetstoreError('usage', '--delimiter must be one character', {
    hint: 'for example --delimiter ";" or --delimiter tab',
  });
}

function decodeUtf8(bytes: Buffer, validator: RowValidator): string {
  const mark = bytes.toString('latin1', 0, 3);
  if (mark.startsWith('\xff\xfe') || mark.startsWith('\xfe\xff')) {
    throw validator.fatal('the file is UTF-16; save it as UTF-8', 1);
  }
  if (!isUtf8(bytes)) {
    let line = 1;
    for (let from = 0; from < bytes.length; line++) {
      const end = bytes.indexOf(0x0a, from);
      const to = end < 0 ? bytes.length : end;
      if (!isUtf8(bytes.subarray(from, to))) validator.addInvalidLine('the text is not valid UTF-8', line);
      from = to + 1;
    }
  }
  return bytes.toString('utf8', mark === '\xef\xbb\xbf' ? 3 : 0);
}

function detectFormat(text: string): FileFormat {
  const start = text.trimStart();
  if (start.startsWith('[')) return 'json';
  if (start === '' || start.startsWith('{')) return 'ndjson';
  return { delimiter: (start.split('\n', 1)[0] ?? '').includes('\t') ? '\t' : ',' };
}

function readNdjson(text: string, validator: RowValidator): void {
  for (const [at, line] of text.split('\n').entries()) if (line.trim() !== '') validator.addJson(line, at + 1);
}

// Splits the array into its elements, so that each can be reported with its line; JSON.parse judges the elements.
function readJsonArray(text: string, validator: RowValidator): void {
  let line = 1;
  let depth = 0;
  let inString = false;
  let element = { from: 0, line: 0 };
  for (let at = 0; at < text.length; at++) {
    const char = text[at] as string;
    if (char === '\n') line++;
    if (inString) {
      if (char === '\\') at++;
      else if (char === '"') inString = false;
    } else if (depth === 0 && !isSpace(char)) {
      if (char !== '[') throw validator.fatal('expected an array of objects, [{"name": …}, …]', line);
      depth = 1;
      element = { from: at + 1, line: 0 };
    } else if (depth === 1 && (char === ',' || char === ']')) {
      const isEmpty = element.line === 0;
      if (!isEmpty) validator.addJson(text.slice(element.from, at), element.line);
      else if (char === ',' || !validator.isEmpty) throw validator.fatal('not valid JSON: an extra comma', line);
      if (char === ']') {
        requireEnd(text, at + 1, line, validator);
        return;
      }
      element = { from: at + 1, line: 0 };
    } else if (!isSpace(char)) {
      element.line ||= line;
      if (char === '"') inString = true;
      else if (char === '{' || char === '[') depth++;
      // An unmatched bracket stays at depth 1 and leaves JSON.parse an element that it refuses.
      else if ((char === '}' || char === ']') && depth > 1) depth--;
    }
  }
  throw validator.fatal('the file ends before the array does', line);
}

function isSpace(char: string): boolean {
  return char === ' ' || char === '\n' || char === '\r' || char === '\t';
}

function requireEnd(text: string, from: number, line: number, validator: RowValidator): void {
  const rest = text.slice(from);
  const at = rest.search(/[^ \n\r\t]/);
  if (at >= 0)
    throw validator.fatal('unexpected text after the array', line + rest.slice(0, at).split('\n').length - 1);
}

/** @returns what identifies an import: the same rows in the same order give the same digest, whatever the format; hex */
export function digestOf(rows: readonly NewCategory[]): string {
  const hash = createHash('sha256');
  for (const { name, description } of rows) hash.update(`${JSON.stringify([name, description])}\n`);
  return hash.digest('hex');
}
