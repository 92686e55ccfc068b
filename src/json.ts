// JSON with exact numbers: an int64 id keeps every digit, in and out, at the speed of the native parser where it can.

/** A whole number of any size: a number where it is safe, a bigint beyond 2^53. */
export type Int64 = number | bigint;

/** A number that JavaScript cannot hold exactly (1.0, 1e400, 20 digits and a fraction): its source text is its value. */
export class ExactNumber {
  readonly text: string;

  /** @param text the number as the document wrote it */
  constructor(text: string) {
    this.text = text;
  }
}

// Only a document with such a number takes the slow path.
const SUSPECT = /\d{16}|\d[.eE]|-0/;
const TOKENS = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

// Nothing from outside can hold this: it is drawn for each process.
const MARK = `\u{f8ff}${Math.random().toString(36).slice(2)}:`;

/**
 * Parses JSON without losing a digit.
 * @param text a JSON document
 * @returns the value; whole numbers beyond 2^53 are bigint, other numbers that would change are ExactNumber
 * @throws SyntaxError with a message of our own: it never quotes the document, which may hold secrets
 */
export function parseJson(text: string): unknown {
  try {
    if (!SUSPECT.test(text)) return JSON.parse(text);
    const marked = text.replace(TOKENS, (token) => {
      if (token.startsWith('"') || String(Number(token)) === token) return token;
      return JSON.stringify(MARK + token);
    });
    return JSON.parse(marked, (_key, value) =>
      typeof value === 'string' && value.startsWith(MARK) ? exact(value.slice(MARK.length)) : value,
    );
  } catch {
    throw new SyntaxError('not valid JSON');
  }
}

function exact(token: string): bigint | number | ExactNumber {
  // -0 and 007 are left to the grammar: JSON.parse refused the second before we came here.
  if (!/^-?(?:0|[1-9]\d*)$/.test(token)) {
    if (!/^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(token)) throw new SyntaxError('not valid JSON');
    return new ExactNumber(token);
  }
  const value = Number(token);
  return Number.isSafeInteger(value) ? value : BigInt(token);
}

/**
 * Writes JSON without losing a digit.
 * @param value data as `parseJson` gives it
 * @param indent spaces per level; 0 for one line
 * @returns a JSON document
 */
export function stringifyJson(value: unknown, indent = 0): string {
  let marked = false;
  const text = JSON.stringify(
    value,
    (_key, part: unknown) => {
      if (typeof part !== 'bigint' && !(part instanceof ExactNumber)) return part;
      marked = true;
      return MARK + (typeof part === 'bigint' ? part.toString() : part.text);
    },
    indent,
  );
  return marked ? text.replace(new RegExp(`"${MARK}([^"]*)"`, 'g'), '$1') : text;
}
