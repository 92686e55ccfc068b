// Bytes to text without a guess: strict UTF-8, every bad line named, a byte order mark taken off.
import { isUtf8 } from 'node:buffer';
import type { ValidationErrors } from './validation-errors.ts';

const BOM = Buffer.from([0xef, 0xbb, 0xbf]);

/**
 * Decodes a file piece by piece; pieces end between characters, not between lines.
 * @param bytes the file
 * @param problems told of every line that is no UTF-8
 * @returns pieces of text, none empty
 * @throws PetstoreError `usage` where the file is UTF-16
 */
export async function* decodedText(
  bytes: AsyncIterable<Uint8Array>,
  problems: ValidationErrors,
): AsyncGenerator<string> {
  let tail = Buffer.alloc(0);
  let line = 1;
  let first = true;
  for await (const chunk of withEnd(bytes)) {
    const all = chunk ? Buffer.concat([tail, chunk]) : tail;
    if (first && chunk && all.length < BOM.length) {
      tail = all;
      continue;
    }
    if (first && isUtf16(all)) throw problems.fatal(1, 'the file is UTF-16; save it as UTF-8');
    const from = first && all.subarray(0, 3).equals(BOM) ? 3 : 0;
    first = false;
    const to = chunk ? endOfCharacters(all) : all.length;
    tail = Buffer.from(all.subarray(to));
    const whole = all.subarray(from, to);
    line = checkLines(whole, line, problems);
    if (whole.length > 0) yield whole.toString('utf8');
  }
}

async function* withEnd(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array | undefined> {
  yield* bytes;
  yield undefined;
}

function isUtf16(bytes: Buffer): boolean {
  return (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff);
}

// A character of up to four bytes may go on in the next piece.
function endOfCharacters(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back] as number;
    if (byte < 0x80) return bytes.length;
    if (byte >= 0xc0) {
      const needed = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
      return needed > back ? bytes.length - back : bytes.length;
    }
  }
  return bytes.length;
}

function checkLines(bytes: Buffer, first: number, problems: ValidationErrors): number {
  const valid = isUtf8(bytes);
  let line = first;
  let from = 0;
  for (let end = bytes.indexOf(0x0a); end >= 0; end = bytes.indexOf(0x0a, from)) {
    if (!valid && !isUtf8(bytes.subarray(from, end))) problems.add(line, 'the text is not valid UTF-8');
    from = end + 1;
    line++;
  }
  if (!valid && !isUtf8(bytes.subarray(from))) problems.add(line, 'the text is not valid UTF-8');
  return line;
}
