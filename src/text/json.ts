// JSON in which every integer keeps its digits: native if that is exact, otherwise lossless-json.
import { isInteger, parse, stringify } from 'lossless-json';

/** Deeper documents are rejected, since recursive functions process them; no response of the service is that deep. */
const MAX_DEPTH = 100;

// Only a document with an integer of 16 digits or more takes the slow path.
const LONG_INTEGER = /(?:^|[[:,])\s*-?\d{16}/;

/** The digits of an int64. BigInt takes 24 s for 60 million digits. */
const MAX_DIGITS = 19;
const TOO_LONG = `an integer has more than ${MAX_DIGITS} digits`;

const EXACT = {
  parseNumber(text: string): number | bigint {
    if (!isInteger(text) || Number.isSafeInteger(Number(text))) return Number(text);
    if (text.replace('-', '').length > MAX_DIGITS) throw new RangeError(TOO_LONG);
    return BigInt(text);
  },
  // The last duplicate key wins, as in JSON.parse.
  onDuplicateKey: ({ newValue }: { readonly newValue: unknown }) => newValue,
};

/**
 * Integers beyond 2^53 become bigint; those with more digits than an int64 are rejected.
 * @throws SyntaxError that never quotes the document, since it may contain secrets
 */
export function parseJson(text: string): unknown {
  let value: unknown;
  try {
    value = LONG_INTEGER.test(text) ? parse(text, undefined, EXACT) : JSON.parse(text);
  } catch (error) {
    throw new SyntaxError(error instanceof RangeError ? TOO_LONG : 'not valid JSON');
  }
  if (exceedsDepth(value, MAX_DEPTH)) throw new SyntaxError(`JSON nested more than ${MAX_DEPTH} levels deep`);
  return value;
}

export function isJsonObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value of a text or of UTF-8 bytes; undefined if they are not JSON. */
export function tryParseJson(json: string | Uint8Array): unknown {
  try {
    return parseJson(typeof json === 'string' ? json : new TextDecoder().decode(json));
  } catch {
    return undefined;
  }
}

function exceedsDepth(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((part) => exceedsDepth(part, levels - 1));
}

/** Rounds every bigint to the nearest double, as `JSON.parse` would. */
export function toPlainJson<T>(value: T): T {
  return JSON.parse(stringifyJson(value)) as T;
}

/**
 * Serializes a value of `parseJson`; undefined becomes `null`.
 * @param indent spaces per level; 0 for one line
 */
export function stringifyJson(value: unknown, indent = 0): string {
  try {
    return JSON.stringify(value, undefined, indent) ?? 'null';
  } catch {
    // JSON.stringify throws on a bigint.
    return stringify(value, undefined, indent) ?? 'null';
  }
}
