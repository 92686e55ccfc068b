// A file or stdin to rows: read whole, decoded, split by its format, every row checked before anything is sent.
import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { readFile, realpath, stat } from 'node:fs/promises';
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
  /** Identifies the file without showing its path: journals may be kept on a server. Undefined for stdin. */
  readonly id: string | undefined;
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
  if (file === '-') return { label: 'stdin', id: undefined, extension: '', bytes: await readStdin(stdin) };
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
    const bytes = await readFile(path);
    const id = createHash('sha256')
      .update(await realpath(path))
      .digest('hex')
      .slice(0, 32);
    return { label: file, id, extension: extname(path).toLowerCase(), bytes };
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

function decodeUtf8(bytes: Buffer, validator: RowValidator): string {
  const mark = bytes.toString('latin1', 0, 3);
  if (mark.startsWith('\xff\xfe') || mark.startsWith('\xfe\xff')) {
    throw validator.fatal('the file is UTF-16; save it as UTF-8', 1);
  }
  const text = bytes.toString('utf8', mark === '\xef\xbb\xbf' ? 3 : 0);
  if (!isUtf8(bytes)) {
    for (const [at, line] of text.split('\n').entries()) {
      if (line.includes(UNDECODABLE)) validator.addInvalidLine('the text is not valid UTF-8', at + 1);
    }
  }
  return text;
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

/** @returns what identifies an import: the same rows in the same order give the same digest, whatever the format; hex */
export function digestOf(rows: readonly NewCategory[]): string {
  const hash = createHash('sha256');
  for (const { name, description } of rows) hash.update(`${JSON.stringify([name, description])}\n`);
  return hash.digest('hex');
}
