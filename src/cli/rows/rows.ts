// Reads the rows of a file or stdin, and checks all of them before the first request.
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { extname, isAbsolute, join } from 'node:path';
import { PetstoreError, systemReason } from '../../errors.ts';
import type { FileRow, RowOptions } from '../../import/row-validator.ts';
import { RowValidator, unusableError } from '../../import/row-validator.ts';
import { escapeControls } from '../../text/escape.ts';
import type { Input } from '../context.ts';
import type { InputFile } from './decode-text.ts';
import { decodeText } from './decode-text.ts';

/** The largest input, in bytes; at 100,000 requests a day, a larger one would take weeks. */
const MAX_BYTES = 64 * 1024 * 1024;
const KNOWN_EXTENSIONS = ['.json', '.ndjson', '.jsonl', '.csv', '.tsv'];

/**
 * @param file a path, or `-` for stdin
 * @throws PetstoreError `usage` if the file cannot be read, is not regular or is too large, or if stdin is a terminal
 */
export async function readInputFile(
  file: string,
  context: { readonly cwd: string; readonly stdin: Input },
): Promise<InputFile> {
  const label = file === '-' ? 'stdin' : `"${escapeControls(file)}"`;
  if (file === '-' && context.stdin.isTTY)
    throw unusableError(label, 'is a terminal', 'pass a file, or pipe data to stdin');
  if (/^https?:\/\//i.test(file)) throw unusableError(label, 'is a URL', 'download the file first');
  const chunks: Uint8Array[] = [];
  let total = 0;
  try {
    for await (const chunk of file === '-' ? context.stdin.read() : await openFile(file, context, label)) {
      total += chunk.length;
      if (total > MAX_BYTES) throw unusableError(label, 'is larger than 64 MiB', 'split it into smaller files');
      chunks.push(chunk);
    }
  } catch (error) {
    if (error instanceof PetstoreError) throw error;
    const isDenied = /^(?:EACCES|EPERM)$/.test((error as NodeJS.ErrnoException).code ?? '');
    const hint = isDenied ? 'check the permissions of the file' : 'check the path';
    throw new PetstoreError('usage', `cannot read ${label} (${systemReason(error)})`, { hint, cause: error });
  }
  return { label, extension: file === '-' ? '' : extname(file).toLowerCase(), bytes: Buffer.concat(chunks) };
}

// Opens without blocking, since a FIFO without a writer would block the program.
async function openFile(
  file: string,
  context: { readonly cwd: string },
  label: string,
): Promise<AsyncIterable<Buffer>> {
  // The working directory may have been deleted.
  const path = isAbsolute(file) ? file : join(context.cwd, file);
  const handle = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  const stats = await handle.stat();
  if (stats.isFile()) return handle.createReadStream();
  await handle.close();
  const what = stats.isDirectory() ? 'is a directory' : 'is not a regular file';
  throw unusableError(label, what, 'pass a file, or - to read stdin');
}

/** @throws PetstoreError `usage` with every invalid row in `problems` */
export async function readRows(file: InputFile, options: RowOptions): Promise<readonly FileRow[]> {
  const validator = new RowValidator(file.label, options);
  const text = decodeText(file, validator);
  // `[]` or a header alone is an empty list, but an empty file is an error: a command before the pipe may have failed.
  const [start] = text.trimStart();
  if (start === undefined) {
    const writer = file.label === 'stdin' ? 'command that writes to stdin' : 'program that wrote the file';
    throw unusableError(file.label, 'is empty', `check the ${writer}`);
  }
  const format = KNOWN_EXTENSIONS.includes(file.extension) ? file.extension.slice(1) : detectFormat(start);
  if (format === 'csv' || format === 'tsv') {
    const { readDelimited } = await import('./csv-rows.ts');
    readDelimited(text, format === 'tsv' ? '\t' : undefined, validator);
  } else if (options.map) throw unusableError('--map', 'requires a CSV or TSV file', 'rename the fields in the file');
  else if (options.delimiter) throw unusableError('--delimiter', 'cannot be used with a JSON file', 'omit --delimiter');
  else if (format === 'json') readJsonArray(text, validator);
  else readNdjson(text, validator);
  validator.check();
  return validator.rows;
}

function detectFormat(start: string): string {
  if (start === '[') return 'json';
  return start === '{' ? 'ndjson' : 'csv';
}

function readNdjson(text: string, validator: RowValidator): void {
  for (const [at, line] of text.split('\n').entries()) {
    // One error instead of one for each line of an indented object.
    if (line.trim() === '{') throw validator.fatalError('expected an array of objects, or one object per line', at + 1);
    if (line.trim() !== '') validator.addJson(line, at + 1);
  }
}

// Splits the array into its elements, so that errors have line numbers; JSON.parse checks the elements.
function readJsonArray(text: string, validator: RowValidator): void {
  // The start of the current element, and the line of its first character (0 until it is found).
  let from = text.length - text.trimStart().length + 1;
  let firstLine = 0;
  let line = text.slice(0, from).split('\n').length;
  if (text[from - 1] !== '[') throw validator.fatalError('expected an array of objects, [{"name": …}, …]', line);
  let depth = 1;
  let inString = false;
  for (let at = from; at < text.length; at++) {
    const char = text[at] as string;
    if (char === '\n') line++;
    if (inString) {
      if (char === '\\') at++;
      else if (char === '"') inString = false;
    } else if (' \n\r\t'.includes(char)) {
    } else if (depth === 0) {
      throw validator.fatalError('unexpected text after the array', line);
    } else if (depth === 1 && (char === ',' || char === ']')) {
      if (firstLine > 0) validator.addJson(text.slice(from, at), firstLine);
      else if (char === ',' || validator.count > 0) throw validator.fatalError('not valid JSON (trailing comma)', line);
      if (char === ']') depth = 0;
      from = at + 1;
      firstLine = 0;
    } else {
      firstLine ||= line;
      if (char === '"') inString = true;
      else if (char === '{' || char === '[') depth++;
      // An unmatched bracket stays at depth 1 and leaves JSON.parse an element that it rejects.
      else if ((char === '}' || char === ']') && depth > 1) depth--;
    }
  }
  if (depth > 0) throw validator.fatalError('unexpected end of file (missing "]")', line);
}
