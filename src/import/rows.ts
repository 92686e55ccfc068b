// A file or stdin to rows: read whole, decoded, split by its format, every row checked before anything is sent.
import { isUtf8 } from 'node:buffer';
import { readFile, stat } from 'node:fs/promises';
import { extname, resolve } from 'node:path';
import type { NewCategory } from '../api/types.ts';
import { PetstoreError } from '../errors.ts';
import { escapeControls } from '../escape.ts';
import type { Input } from '../io.ts';
import { RowValidator } from './validate-row.ts';

/** The largest input, in bytes; at 100,000 requests a day a larger one takes weeks. */
const MAX_BYTES = 64 * 1024 * 1024;

/** An input, read to its end. */
export interface InputFile {
  /** How messages call it; any characters. */
  readonly label: string;
  /** In lower case with its dot; '' for stdin and where it has none. */
  readonly extension: string;
  readonly bytes: Buffer;
}

/**
 * @param file a path, or `-` for stdin
 * @throws PetstoreError `usage` where it is missing, not a regular file, too large, or stdin is a terminal
 */
export async function readInputFile(
  file: string,
  { cwd, stdin }: { readonly cwd: string; readonly stdin: Input },
): Promise<InputFile> {
  if (file === '-') return { label: 'stdin', extension: '', bytes: await readStdin(stdin) };
  const path = resolve(cwd, file);
  const shown = escapeControls(file);
  try {
    const stats = await stat(path);
    if (!stats.isFile()) {
      throw new PetstoreError('usage', `${shown} is not a regular file`, {
        hint: 'to read from a pipe, use - as FILE',
      });
    }
    if (stats.size > MAX_BYTES) throw tooLarge(shown);
    return { label: file, extension: extname(path).toLowerCase(), bytes: await readFile(path) };
  } catch (error) {
    throw error instanceof PetstoreError ? error : unreadable(error, shown);
  }
}

async function readStdin(stdin: Input): Promise<Buffer> {
  if (stdin.isTTY) {
    throw new PetstoreError('usage', 'stdin is a terminal', { hint: 'name a file, or pipe its content in' });
  }
  const chunks: Uint8Array[] = [];
  let total = 0;
  try {
    for await (const chunk of stdin.read()) {
      total += chunk.length;
      if (total > MAX_BYTES) throw tooLarge('stdin');
      chunks.push(chunk);
    }
  } catch (error) {
    throw error instanceof PetstoreError ? error : unreadable(error, 'stdin');
  }
  return Buffer.concat(chunks);
}

function unreadable(error: unknown, shown: string): PetstoreError {
  const code = (error as NodeJS.ErrnoException).code ?? 'unknown error';
  const reason = code === 'ENOENT' ? 'no such file' : code === 'EACCES' ? 'permission denied' : code;
  return new PetstoreError('usage', `cannot read ${shown}: ${reason}`, {
    hint: "check the path and the file's permissions",
    cause: error,
  });
}

function tooLarge(shown: string): PetstoreError {
  return new PetstoreError('usage', `${shown} is larger than 64 MiB`, { hint: 'split it into smaller files' });
}

export interface RowOptions {
  /** The field separator as typed; makes the file a delimited one whatever its name. */
  readonly delimiter: string | undefined;
  /** `field=column`, as typed. */
  readonly map?: readonly string[] | undefined;
  readonly ignoreExtra: boolean;
}

type FileFormat = 'json' | 'ndjson' | { readonly delimiter: string | undefined };

const BY_EXTENSION: Readonly<Record<string, FileFormat>> = {
  '.json': 'json',
  '.ndjson': 'ndjson',
  '.jsonl': 'ndjson',
  '.csv': { delimiter: undefined },
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
  const text = decode(file.bytes, validator);
  const format = chosen ?? BY_EXTENSION[file.extension] ?? detectFormat(text);
  if (format === 'json') readJsonArray(text, validator);
  else if (format === 'ndjson') readNdjson(text, validator);
  else (await import('./csv-rows.ts')).readDelimited(text, { ...format, map: options.map ?? [] }, validator);
  validator.check();
  // `[]` or a header alone is an empty list; no text at all means that the command before the pipe failed.
  if (validator.rows.length === 0 && text.trim() === '') {
    const hint = 'expected a JSON array, one JSON object per line, or CSV or TSV with a header';
    throw new PetstoreError('usage', `${escapeControls(file.label)} contains no rows`, { hint });
  }
  return validator.rows;
}

/** What stands in decoded text for bytes that are not UTF-8. */
const UNDECODABLE = '\ufffd';

function parseDelimiter(typed: string): string {
  const named: Readonly<Record<string, string>> = { tab: '\t', '\\t': '\t', comma: ',', semicolon: ';', pipe: '|' };
  const delimiter = named[typed.toLowerCase()] ?? typed;
  if ([...delimiter].length === 1 && !/["\r\n\p{Surrogate}\ufeff]/u.test(delimiter)) return delimiter;
  throw new PetstoreError('usage', '--delimiter must be one character', {
    hint: 'for example --delimiter ";" or --delimiter tab',
  });
}

const BYTE_ORDER_MARK = '\ufeff';

/** Decodes UTF-8 and, with a byte order mark, UTF-16. */
function decode(bytes: Buffer, validator: RowValidator): string {
  const mark = bytes.toString('hex', 0, 2);
  const encoding = mark === 'fffe' ? 'utf-16le' : mark === 'feff' ? 'utf-16be' : 'utf-8';
  const text = new TextDecoder(encoding, { ignoreBOM: true }).decode(bytes);
  if (encoding === 'utf-8' && !isUtf8(bytes)) {
    const line = text.slice(0, text.indexOf(UNDECODABLE)).split('\n').length;
    throw validator.fatal('the text is neither UTF-8 nor UTF-16; save the file as UTF-8 (in Excel: CSV UTF-8)', line);
  }
  return text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text;
}

function detectFormat(text: string): FileFormat {
  const start = text.trimStart();
  if (start.startsWith('[')) return 'json';
  return start === '' || start.startsWith('{') ? 'ndjson' : { delimiter: undefined };
}

function readNdjson(text: string, validator: RowValidator): void {
  for (const [at, line] of text.split('\n').entries()) if (line.trim() !== '') validator.addJson(line, at + 1);
}

// Splits the array into its elements, so that each can be reported with its line; JSON.parse judges the elements.
function readJsonArray(text: string, validator: RowValidator): void {
  let line = 1;
  let depth = 0;
  let inString = false;
  let ended = false;
  let element = { from: 0, line: 0 };
  for (let at = 0; at < text.length; at++) {
    const char = text[at] as string;
    if (char === '\n') line++;
    if (inString) {
      if (char === '\\') at++;
      else if (char === '"') inString = false;
    } else if (isSpace(char)) {
    } else if (ended) {
      throw validator.fatal('unexpected text after the array', line);
    } else if (depth === 0) {
      if (char !== '[') throw validator.fatal('expected an array of objects, [{"name": …}, …]', line);
      depth = 1;
      element = { from: at + 1, line: 0 };
    } else if (depth === 1 && (char === ',' || char === ']')) {
      if (element.line > 0) validator.addJson(text.slice(element.from, at), element.line);
      else if (char === ',' || !validator.isEmpty) throw validator.fatal('not valid JSON: an extra comma', line);
      element = { from: at + 1, line: 0 };
      ended = char === ']';
    } else {
      element.line ||= line;
      if (char === '"') inString = true;
      else if (char === '{' || char === '[') depth++;
      // An unmatched bracket stays at depth 1 and leaves JSON.parse an element that it refuses.
      else if ((char === '}' || char === ']') && depth > 1) depth--;
    }
  }
  if (!ended) throw validator.fatal('the file ends before the array does', line);
}

function isSpace(char: string): boolean {
  return char === ' ' || char === '\n' || char === '\r' || char === '\t';
}
