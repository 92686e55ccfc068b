// Reads the rows of a file or stdin, and checks all of them before the first request.
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { extname, isAbsolute, join } from 'node:path';
import { PetstoreError, systemReason } from '../../errors.ts';
import type { InputRow } from '../../import/row-validator.ts';
import { RowValidator, unusableError } from '../../import/row-validator.ts';
import { invalidValueError } from '../../settings/check-options.ts';
import { escapeControls } from '../../text/escape.ts';
import type { Context } from '../context.ts';
import type { DelimitedOptions } from './csv-rows.ts';

/** The largest input, in bytes; at 100,000 requests a day, a larger one would take weeks. */
const MAX_BYTES = 64 * 1024 * 1024;

interface InputFile {
  /** The quoted name of the file, or `stdin`, for messages. */
  readonly label: string;
  /** In lowercase with the dot; '' for stdin and names without an extension. */
  readonly extension: string;
  readonly bytes: Buffer;
}

export interface RowOptions extends DelimitedOptions {
  readonly encoding?: string | undefined;
}

const SAVE_AS_UTF8 = 'save the file as UTF-8 (in Excel: "CSV UTF-8")';
const SAVE_AS_CSV = 'save the data as CSV (in Excel: "CSV UTF-8")';
const DECOMPRESS = 'decompress the file first';
const UNSUPPORTED = 'is not CSV, TSV, JSON or NDJSON';

/** The first bytes of file types that are not supported. */
const FILE_SIGNATURES: readonly (readonly [start: string, is: string, hint: string])[] = [
  ['PK\x03\x04', 'is a ZIP archive', DECOMPRESS],
  ['\xd0\xcf\x11\xe0', 'is an Excel workbook', SAVE_AS_CSV],
  ['\x1f\x8b', 'is compressed with gzip', DECOMPRESS],
  ['%PDF', UNSUPPORTED, SAVE_AS_CSV],
  // HTML or XML.
  ['<', UNSUPPORTED, SAVE_AS_CSV],
];
const BYTE_ORDER_MARKS: Readonly<Record<string, string>> = {
  '\xef\xbb': 'utf-8',
  '\xff\xfe': 'utf-16le',
  '\xfe\xff': 'utf-16be',
};

const KNOWN_EXTENSIONS = ['.json', '.ndjson', '.jsonl', '.csv', '.tsv'];

/**
 * @param file a path, or `-` for stdin
 * @throws PetstoreError `usage` if the file cannot be read, is not a regular file or is too large, or if stdin is a terminal
 */
export async function readInputFile(file: string, context: Pick<Context, 'cwd' | 'stdin'>): Promise<InputFile> {
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
async function openFile(file: string, context: Pick<Context, 'cwd'>, label: string): Promise<AsyncIterable<Buffer>> {
  // The working directory may have been deleted. Joined to it, an empty name would name this directory.
  const path = file === '' || isAbsolute(file) ? file : join(context.cwd, file);
  const handle = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  const stats = await handle.stat();
  if (stats.isFile()) return handle.createReadStream();
  await handle.close();
  const what = stats.isDirectory() ? 'is a directory' : 'is not a regular file';
  throw unusableError(label, what, 'pass a file, or - to read stdin');
}

/** @throws PetstoreError `usage` with every invalid row in `problems` */
export async function readRows(file: InputFile, options: RowOptions): Promise<readonly InputRow[]> {
  const { label, extension } = file;
  const hint = 'correct the input and run the same command again';
  const validator = new RowValidator({ label, hint, ignoreExtra: options.ignoreExtra });
  const text = decodeText(file, options.encoding, validator);
  // `[]` or a header alone is an empty list, but an empty file is an error: a command before the pipe may have failed.
  const [start] = text.trimStart();
  if (start === undefined) {
    const writer =
      label === 'stdin' ? 'check the command that writes to stdin' : 'pass a file with a header line and rows';
    throw unusableError(label, 'is empty', writer);
  }
  const format = KNOWN_EXTENSIONS.includes(extension) ? extension.slice(1) : detectFormat(start);
  if (format === 'csv' || format === 'tsv') {
    const { readDelimited } = await import('./csv-rows.ts');
    readDelimited(text, format === 'tsv' ? '\t' : undefined, options, validator);
  } else if (options.map) throw unusableError('--map', 'requires a CSV or TSV file', 'rename the fields in the file');
  else if (options.delimiter) throw unusableError('--delimiter', 'cannot be used with a JSON file', 'omit --delimiter');
  else if (format === 'json') readJsonArray(text, label, validator);
  else readNdjson(text, validator);
  return validator.check();
}

/**
 * @param typed the value of `--encoding`, which a byte order mark overrides
 * @returns the text without a byte order mark
 * @throws PetstoreError `usage` if the bytes are not text, or not in this encoding
 */
function decodeText({ bytes, label }: InputFile, typed: string | undefined, validator: RowValidator): string {
  const start = bytes.toString('latin1', 0, 4);
  const [, is, hint = ''] = FILE_SIGNATURES.find(([first]) => start.startsWith(first)) ?? [];
  if (is && bytes.includes('xl/workbook')) throw unusableError(label, 'is an Excel workbook', SAVE_AS_CSV);
  if (is) throw unusableError(label, is, hint);
  const marked = BYTE_ORDER_MARKS[start.slice(0, 2)];
  const encoding = marked ?? typed ?? 'utf-8';
  const decoder = decoderOf(encoding);
  try {
    const text = new TextDecoder(encoding, { fatal: true }).decode(bytes);
    // A zero byte next to the first character means UTF-16 without its mark, or no text.
    if (!/^.?\0/s.test(text)) return text;
  } catch {
    // The error does not name the line.
  }
  if (encoding === 'utf-8' && bytes.includes(0)) throw unusableError(label, 'is not a text file', SAVE_AS_CSV);
  const lines = decoder.decode(bytes).split('\n');
  const line = Math.max(1, lines.findIndex((text) => text.includes('\ufffd')) + 1);
  const useEncoding = typed ? 'check --encoding' : 'use --encoding, for example --encoding windows-1252';
  const problem = `the text is not valid ${encoding.toUpperCase()}`;
  throw validator.fatalError(problem, line, marked ? SAVE_AS_UTF8 : useEncoding);
}

function decoderOf(encoding: string) {
  try {
    return new TextDecoder(encoding);
  } catch {
    const hint = 'use a name such as windows-1252, iso-8859-2 or utf-16le';
    throw invalidValueError(encoding, '--encoding', hint, 'encoding');
  }
}

function detectFormat(start: string): string {
  if (start === '[') return 'json';
  return start === '{' ? 'ndjson' : 'csv';
}

function readJsonArray(text: string, label: string, validator: RowValidator): void {
  const value = tryParseJson(text);
  if (value === undefined) throw unusableError(label, 'is not valid JSON', 'correct the input');
  if (!Array.isArray(value))
    throw unusableError(label, 'is not a JSON array', 'write the rows as [{"name": "dog"}, …]');
  for (const row of value) validator.add(row);
}

function readNdjson(text: string, validator: RowValidator): void {
  for (const [at, line] of text.split('\n').entries()) {
    // One error instead of one for each line of an indented object.
    if (line.trim() === '{') throw validator.fatalError('expected an array of objects, or one object per line', at + 1);
    if (line.trim() === '') continue;
    const value = tryParseJson(line);
    if (value === undefined) validator.addInvalid('not valid JSON', at + 1);
    else validator.add(value, at + 1);
  }
}

// The parser's message quotes the file.
function tryParseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
