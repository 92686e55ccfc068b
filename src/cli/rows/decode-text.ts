// Decodes the text of a file: detects its encoding, and rejects files that are not text.
import type { RowValidator } from '../../import/row-validator.ts';
import { unusableError } from '../../import/row-validator.ts';
import { invalidValueError } from '../../settings/check-options.ts';

export interface InputFile {
  /** Its quoted name or `stdin`, for messages. */
  readonly label: string;
  /** In lowercase with its dot; '' for stdin and names without an extension. */
  readonly extension: string;
  readonly bytes: Buffer;
}

const SAVE_AS_UTF8 = 'save the file as UTF-8 (in Excel: "CSV UTF-8")';
const SAVE_AS_CSV = 'save the data as CSV (in Excel: "CSV UTF-8")';
const DECOMPRESS = 'decompress the file first';
const NO_ROWS = 'is not CSV, TSV, JSON or NDJSON';

/** File types by their first bytes. */
const NO_TEXT: readonly (readonly [start: string, is: string, hint: string])[] = [
  ['PK\x03\x04', 'is a ZIP archive', DECOMPRESS],
  ['\xd0\xcf\x11\xe0', 'is an Excel workbook', SAVE_AS_CSV],
  ['\x1f\x8b', 'is compressed with gzip', DECOMPRESS],
  ['%PDF', NO_ROWS, SAVE_AS_CSV],
  // HTML or XML.
  ['<', NO_ROWS, SAVE_AS_CSV],
];
const BYTE_ORDER_MARKS: Readonly<Record<string, string>> = {
  '\xef\xbb': 'utf-8',
  '\xff\xfe': 'utf-16le',
  '\xfe\xff': 'utf-16be',
};

/**
 * @param typed the value of `--encoding`, which a byte order mark overrides
 * @returns the text without a byte order mark
 * @throws PetstoreError `usage` if the bytes are not text, or not in this encoding
 */
export function decodeText({ bytes, label }: InputFile, typed: string | undefined, validator: RowValidator): string {
  const start = bytes.toString('latin1', 0, 4);
  const [, is, hint = ''] = NO_TEXT.find(([first]) => start.startsWith(first)) ?? [];
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
