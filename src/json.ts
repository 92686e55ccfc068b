// JSON in which every number keeps its digits: native if that is exact, otherwise lossless-json.
import { isInteger, isLosslessNumber, LosslessNumber, parse, stringify } from 'lossless-json';

/** A number if it is a safe integer, otherwise a bigint. */
export type Int64 = number | bigint;

/** Deeper documents are rejected, since recursive functions process them; no response of the service is so deep. */
const MAX_DEPTH = 100;

// Matches numbers that a double may not represent exactly; only documents with a match take the slow path.
const SUSPECT = /(?:^|[[:,])\s*(?:-0|-?\d{16}|-?\d{1,15}[.eE])/;
const MAX_BIGINT_DIGITS = 1000;

/**
 * Whole numbers beyond 2^53 become bigint; other numbers that would change are opaque (`isOpaqueNumber`).
 * @throws SyntaxError that never quotes the document, since it may contain secrets
 */
export function parseJson(text: string): unknown {
  let value: unknown;
  try {
    value = SUSPECT.test(text) ? flattenStrings(parse(text, undefined, NUMBERS)) : JSON.parse(text);
  } catch {
    throw new SyntaxError('not valid JSON');
  }
  if (exceedsDepth(value, MAX_DEPTH)) throw new SyntaxError(`JSON nested more than ${MAX_DEPTH} levels deep`);
  return value;
}

// lossless-json builds strings character by character; V8 keeps every intermediate string until Number() flattens them.
function flattenStrings<T>(value: T): T {
  if (typeof value === 'string') Number(value);
  else if (typeof value === 'object' && value !== null) for (const part of Object.values(value)) flattenStrings(part);
  return value;
}

const NUMBERS = {
  parseNumber(text: string): unknown {
    const value = Number(text);
    if (String(value) === text && (Number.isSafeInteger(value) || !Number.isInteger(value))) return value;
    const whole = isInteger(text) && text !== '-0' && text.length <= MAX_BIGINT_DIGITS;
    return whole ? BigInt(text) : new LosslessNumber(text);
  },
  // The last duplicate key wins, as in JSON.parse.
  onDuplicateKey: ({ newValue }: { readonly newValue: unknown }) => newValue,
};

/** Whether a value of `parseJson` is a number that JavaScript would rewrite (1e400, 1.0, -0): it is kept as text. */
export function isOpaqueNumber(value: unknown): boolean {
  return isLosslessNumber(value);
}

/** Rounds the exact numbers of `parseJson` to the nearest double, as `JSON.parse` would. */
export function toPlainJson(value: unknown): unknown {
  if (typeof value === 'bigint' || isLosslessNumber(value)) return Number(String(value));
  if (Array.isArray(value)) return value.map(toPlainJson);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, toPlainJson(part)]));
}

function exceedsDepth(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null || isOpaqueNumber(value)) return false;
  if (levels === 0) return true;
  for (const key in value) {
    const part = (value as Readonly<Record<string, unknown>>)[key];
    if (typeof part === 'object' && exceedsDepth(part, levels - 1)) return true;
  }
  return false;
}

/**
 * Serializes a value of `parseJson` with its original digits; undefined becomes `null`.
 * @param indent spaces per level; 0 for one line
 */
export function stringifyJson(value: unknown, indent = 0): string {
  return preferNative((write) => write(value, undefined, indent) ?? 'null');
}

/** Serializes each value as one line (NDJSON). */
export function stringifyLines(values: readonly unknown[]): string {
  return preferNative((write) => values.map((value) => `${write(value) ?? 'null'}\n`).join(''));
}

function preferNative(text: (write: typeof JSON.stringify | typeof stringify) => string): string {
  try {
    const native = text(JSON.stringify);
    if (!/"isLosslessNumber": ?true/.test(native)) return native;
  } catch {
    // JSON.stringify throws on a bigint.
  }
  return text(stringify);
}
