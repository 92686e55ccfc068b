// JSON in which every number keeps its digits: native where that is exact, lossless-json where it is not.
import { isInteger, isLosslessNumber, LosslessNumber, parse, stringify } from 'lossless-json';

/** A whole number: a number where it is safe, a bigint beyond 2^53. */
export type Int64 = number | bigint;

/** Documents nested deeper are rejected; no response of the service needs it. */
export const MAX_DEPTH = 100;
/** About 250,000 categories. The memory that a document needs depends on its values more than on its length. */
export const MAX_VALUES = 1_000_000;

// A number that a double may not hold stands at the start or after one of these; only such documents take the slow path.
const SUSPECT = /(?:^|[[:,])\s*(?:-0|-?\d{16}|-?\d{1,15}[.eE])/;
const MAX_BIGINT_DIGITS = 1000;

/**
 * Whole numbers beyond 2^53 become bigint; other numbers that would change are opaque (`isOpaqueNumber`).
 * @param maxDepth levels of nesting; Infinity where the caller checks the depth itself
 * @throws SyntaxError that never quotes the document, since it may contain secrets
 */
export function parseJson(text: string, maxDepth = MAX_DEPTH): unknown {
  const value = needsExactNumbers(text) ? parseExactly(text) : parseNative(text);
  if (maxDepth !== Number.POSITIVE_INFINITY && exceedsDepth(value, maxDepth)) {
    throw new SyntaxError(`JSON nested more than ${maxDepth} levels deep`);
  }
  return value;
}

/** Whether the document may contain a number that a double does not hold. */
export function needsExactNumbers(text: string): boolean {
  return SUSPECT.test(text);
}

/** Parses a document that `needsExactNumbers` does not suspect, of any depth; throws as `parseJson` does. */
export function parseNative(text: string): unknown {
  return parseBy(JSON.parse, text);
}

function parseExactly(text: string): unknown {
  return parseBy((json) => flatten(parse(json, undefined, NUMBERS)), text);
}

function parseBy(parseText: (text: string) => unknown, text: string): unknown {
  if (hasTooManyValues(text)) throw new SyntaxError(`JSON with more than ${MAX_VALUES.toLocaleString('en-US')} values`);
  try {
    return parseText(text);
  } catch {
    throw new SyntaxError('not valid JSON');
  }
}

function hasTooManyValues(text: string): boolean {
  if (text.length <= MAX_VALUES) return false;
  const most = [',', '[', '{'].reduce((sum, mark) => sum + occurrences(text, mark), 0);
  // What stands in strings is left out only where it matters, since that takes five times as long.
  return most > MAX_VALUES && countValues(text) > MAX_VALUES;
}

function occurrences(text: string, mark: string): number {
  let count = 0;
  for (let at = text.indexOf(mark); at >= 0; at = text.indexOf(mark, at + 1)) count++;
  return count;
}

function countValues(text: string): number {
  let count = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x2c || code === 0x5b || code === 0x7b) count++;
    // Skips a string and what is escaped in it.
    else if (code === 0x22) while (++at < text.length && text.charCodeAt(at) !== 0x22) if (text[at] === '\\') at++;
  }
  return count;
}

// lossless-json joins strings character by character; V8 keeps every step until something needs the whole string.
function flatten<T>(value: T): T {
  if (typeof value === 'string') Number(value);
  else if (typeof value === 'object' && value !== null) for (const part of Object.values(value)) flatten(part);
  return value;
}

const NUMBERS = {
  parseNumber(text: string): unknown {
    const value = Number(text);
    if (String(value) === text && (Number.isSafeInteger(value) || !Number.isInteger(value))) return value;
    const whole = isInteger(text) && text !== '-0' && text.length <= MAX_BIGINT_DIGITS;
    return whole ? BigInt(text) : new LosslessNumber(text);
  },
  // As JSON.parse does: the last one wins.
  onDuplicateKey: ({ newValue }: { readonly newValue: unknown }) => newValue,
};

/** Whether a value of `parseJson` is a number that JavaScript cannot hold (1e400, 1.0, -0): kept as written. */
export function isOpaqueNumber(value: unknown): boolean {
  return isLosslessNumber(value);
}

/** Replaces numbers that only `parseJson` keeps exactly by the nearest number, as `JSON.parse` would. */
export function toPlainJson(value: unknown): unknown {
  if (typeof value === 'bigint' || isLosslessNumber(value)) return Number(String(value));
  if (Array.isArray(value)) return value.map(toPlainJson);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, toPlainJson(part)]));
}

export function exceedsDepth(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null || isOpaqueNumber(value)) return false;
  if (levels === 0) return true;
  for (const key in value) {
    const part = (value as Readonly<Record<string, unknown>>)[key];
    if (typeof part === 'object' && exceedsDepth(part, levels - 1)) return true;
  }
  return false;
}

/**
 * Writes what `parseJson` returned with the digits it had; `null` for undefined.
 * @param indent spaces per level; 0 for one line
 */
export function stringifyJson(value: unknown, indent = 0): string {
  return preferNative((write) => write(value, undefined, indent) ?? 'null');
}

/** Writes each value as a line of its own. */
export function stringifyLines(values: readonly unknown[]): string {
  return preferNative((write) => values.map((value) => `${write(value) ?? 'null'}\n`).join(''));
}

function preferNative(text: (write: typeof JSON.stringify | typeof stringify) => string): string {
  try {
    const native = text(JSON.stringify);
    if (!/"isLosslessNumber": ?true/.test(native)) return native;
  } catch {
    // A bigint, which only the slow path writes.
  }
  return text(stringify);
}
