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
const SAVE_AS_CSV = 'save the sheet as CSV (in Excel: "CSV UTF-8")';
const DECOMPRESS = 'decompress the file first';

/** File types by their first bytes, in hexadecimal digits. */
const NO_TEXT: readonly (readonly [start: string, is: string, hint: string])[] = [
  ['504b0304', 'is a ZIP archive', DECOMPRESS],
  ['d0cf11e0a1b11ae1', 'is an Excel workbook', SAVE_AS_CSV],
  ['1f8b', 'is compressed with gzip', DECOMPRESS],
  ['425a6839314159', 'is compressed with bzip2', DECOMPRESS],
  ['fd377a585a00', 'is compressed with xz', DECOMPRESS],
  ['28b52ffd', 'is compressed with zstd', DECOMPRESS],
];
const BYTE_ORDER_MARKS: Readonly<Record<string, string>> = { efbb: 'utf-8', fffe: 'utf-16le', feff: 'utf-16be' };

/**
 * A byte order mark overrides `--encoding`.
 * @returns the text without a byte order mark
 * @throws PetstoreError `usage` if the bytes are not text, or not in this encoding
 */
export function decodeText({ bytes, label }: InputFile, validator: RowValidator): string {
  const typed = validator.options.encoding;
  const start = bytes.toString('hex', 0, 8);
  const [, is, hint] = NO_TEXT.find(([first]) => start.startsWith(first)) ?? [];
  if (is && bytes.includes('xl/workbook')) throw unusableError(label, 'is an Excel workbook', SAVE_AS_CSV);
  if (is) throw unusableError(label, is, hint as string);
  if (/^(?:00){4}/.test(start))
    throw unusableError(label, 'is not a text file', 'check the program that wrote the file');
  const marked = BYTE_ORDER_MARKS[start.slice(0, 4)];
  const encoding = marked ?? typed ?? 'utf-8';
  const decoder = decoderOf(encoding);
  try {
    const text = new TextDecoder(encoding, { fatal: true }).decode(bytes);
    // A zero byte next to the first character means UTF-16 without its mark, or UTF-32.
    if (!/^.?\0/s.test(text)) return text;
  } catch {
    // The error does not name the line.
  }
  const lines = decoder.decode(bytes).split('\n');
  const line = Math.max(1, lines.findIndex((text) => text.includes('\ufffd')) + 1);
  throw validator.fatalError(`the text is not valid ${encoding.toUpperCase()}`, line, hintFor(start, marked, typed));
}

function decoderOf(encoding: string) {
  try {
    return new TextDecoder(encoding);
  } catch {
    throw invalidValueError(
      encoding,
      '--encoding',
      'use a name such as windows-1252, iso-8859-2 or utf-16le',
      'encoding',
    );
  }
}

function hintFor(start: string, marked: string | undefined, typed: string | undefined): string {
  if (marked) return SAVE_AS_UTF8;
  if (typed) return 'check --encoding';
  if (/^..00/.test(start)) return 'use --encoding utf-16le';
  return start.startsWith('00') ? 'use --encoding utf-16be' : 'use --encoding, for example --encoding windows-1252';
}
