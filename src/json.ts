// JSON with exact numbers: an int64 id keeps every digit, in and out, at the speed of the native parser where it can.

/** A whole number of any size: a number where it is safe, a bigint beyond 2^53. */
export type Int64 = number | bigint;

// Nothing from outside can hold this: it is drawn for each process.
const MARK = `\u{f8ff}${Math.random().toString(36).slice(2)}:`;
const MARKED = new RegExp(`"${MARK}([^"]*)"`, 'g');

/** A number that JavaScript cannot hold exactly (1.0, 1e400, 20 digits and a fraction): its source text is its value. */
export class ExactNumber {
  readonly text: string;

  /** @param text the number as the document wrote it */
  constructor(text: string) {
    this.text = text;
  }

  /** @returns what `stringifyJson` turns into the number again */
  toJSON(): string {
    return MARK + this.text;
  }
}

/** Deeper nesting than this is refused: nothing of the service needs it, and writing it again would overflow the stack. */
export const MAX_DEPTH = 100;

// Only a document with such a number takes the slow path; a number stands at the start, or after one of these.
const SUSPECT = /(?:^|[[:,])\s*(?:-0|-?\d{16}|-?\d{1,15}[.eE])/;
const NUMBER = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/**
 * Parses JSON without losing a digit.
 * @param text a JSON document
 * @param maxDepth levels of nesting to refuse more of; Infinity leaves that to the caller, who looks at every part anyway
 * @returns the value; whole numbers beyond 2^53 are bigint, other numbers that would change are ExactNumber
 * @throws SyntaxError with a message of our own: it never quotes the document, which may hold secrets
 */
export function parseJson(text: string, maxDepth = MAX_DEPTH): unknown {
  let value: unknown;
  try {
    value = SUSPECT.test(text) ? parseExactly(text) : JSON.parse(text);
  } catch {
    throw new SyntaxError('not valid JSON');
  }
  if (maxDepth !== Number.POSITIVE_INFINITY && exceedsDepth(value, maxDepth)) {
    throw new SyntaxError(`JSON nested more than ${maxDepth} levels deep`);
  }
  return value;
}

// Numbers that would change go through the native parser as marked strings, and come out of it as what they are.
function parseExactly(text: string): unknown {
  const marked = markNumbers(text);
  if (marked === text) return JSON.parse(text);
  return JSON.parse(marked, (key, value: unknown) => {
    // A number where a key should be has become a string by the marking: it is still no JSON.
    if (key.startsWith(MARK)) throw new SyntaxError('number as key');
    return typeof value === 'string' && value.startsWith(MARK) ? exact(value.slice(MARK.length)) : value;
  });
}

// Walks from string to string, so that digits inside strings are left alone; each character is looked at once.
function markNumbers(text: string): string {
  const parts: string[] = [];
  let copied = 0;
  let from = 0;
  while (from < text.length) {
    const quote = text.indexOf('"', from);
    const end = quote < 0 ? text.length : quote;
    if (end - from > 1 && mayChange(text, from, end)) {
      parts.push(text.slice(copied, from), text.slice(from, end).replace(NUMBER, markNumber));
      copied = end;
    }
    if (quote < 0) break;
    from = closingQuote(text, quote) + 1;
  }
  return parts.length === 0 ? text : parts.join('') + text.slice(copied);
}

// Whether a number between two strings may be one that changes: it is long, or has a fraction, an exponent or a sign.
function mayChange(text: string, from: number, end: number): boolean {
  let digits = 0;
  for (let at = from; at < end; at++) {
    const code = text.charCodeAt(at);
    if (code < 0x30 || code > 0x39) digits = 0;
    else if (++digits === 16) return true;
    // A point, a minus, E, e.
    if (code === 0x2e || code === 0x2d || code === 0x45 || code === 0x65) return true;
  }
  return false;
}

// 2^53 itself can be told apart from its neighbours no longer, although its digits survive: it is a bigint too.
function markNumber(token: string): string {
  const value = Number(token);
  const exact = String(value) === token && (Number.isSafeInteger(value) || !Number.isInteger(value));
  return exact ? token : JSON.stringify(MARK + token);
}

// A quote is escaped by an odd number of backslashes before it.
function closingQuote(text: string, open: number): number {
  for (let at = text.indexOf('"', open + 1); at >= 0; at = text.indexOf('"', at + 1)) {
    let first = at;
    while (text.charCodeAt(first - 1) === 0x5c) first--;
    if ((at - first) % 2 === 0) return at;
  }
  return text.length;
}

function exact(token: string): bigint | number | ExactNumber {
  if (/^-?(?:0|[1-9]\d*)$/.test(token)) {
    const value = Number(token);
    if (Object.is(value, -0)) return new ExactNumber(token);
    return Number.isSafeInteger(value) ? value : BigInt(token);
  }
  // 007 and the like are no JSON; marked, the native parser did not see them.
  if (!/^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(token)) throw new SyntaxError('no number of JSON');
  return new ExactNumber(token);
}

/**
 * @param value data as `parseJson` gives it
 * @param levels how many levels of nesting are well
 * @returns whether it has more
 */
export function exceedsDepth(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null || value instanceof ExactNumber) return false;
  if (levels === 0) return true;
  if (Array.isArray(value)) {
    for (const part of value) if (typeof part === 'object' && exceedsDepth(part, levels - 1)) return true;
    return false;
  }
  for (const key in value) {
    const part = (value as Record<string, unknown>)[key];
    if (typeof part === 'object' && exceedsDepth(part, levels - 1)) return true;
  }
  return false;
}

/**
 * Writes JSON without losing a digit.
 * @param value data as `parseJson` gives it
 * @param indent spaces per level; 0 for one line
 * @returns a JSON document; `null` for undefined
 */
export function stringifyJson(value: unknown, indent = 0): string {
  const text = native(value, indent) ?? 'null';
  return text.includes(MARK) ? text.replace(MARKED, '$1') : text;
}

// The native writer refuses a bigint at the first it meets: only data that has one pays for a replacer, several times slower.
function native(value: unknown, indent: number): string | undefined {
  try {
    return JSON.stringify(value, undefined, indent);
  } catch {
    const mark = (_key: string, part: unknown): unknown => (typeof part === 'bigint' ? MARK + part.toString() : part);
    return JSON.stringify(value, mark, indent);
  }
}
