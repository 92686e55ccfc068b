// Checks responses against docs/service.md (resources): bytes in, typed values out.
import type { HttpHeaders } from '../http/types.ts';
import { parseJson } from '../json.ts';
import type { Category } from './types.ts';

/** A response that violates the service's contract; the message never quotes the response. */
export class DecodeError extends Error {
  override readonly name = 'DecodeError';
  /** Whether the body suggests that another server responded. */
  readonly foreign: boolean;

  constructor(message: string, foreign = false) {
    super(message);
    this.foreign = foreign;
  }
}

const INT64_MIN = -(2n ** 63n);
const INT64_MAX = 2n ** 63n - 1n;

/** @throws DecodeError naming the first element that is not a category */
export function decodeList(body: Uint8Array, headers: HttpHeaders): readonly Category[] {
  const value = decodeJson(body, headers);
  if (!Array.isArray(value)) throw new DecodeError('expected an array of categories', true);
  return value.map(decodeCategory);
}

/** @throws DecodeError if the body is not JSON in UTF-8 */
export function decodeJson(body: Uint8Array, headers: HttpHeaders): unknown {
  if (body.length === 0) throw new DecodeError('expected JSON, got an empty body', true);
  try {
    return parseJson(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch (error) {
    throw notJson(headers, error as Error);
  }
}

// The content type is the clearest explanation of a body that is not JSON.
function notJson(headers: HttpHeaders, { name, message }: Error): DecodeError {
  const type = headers['content-type']?.split(';')[0]?.trim().toLowerCase() ?? '';
  const known = /^[\w.+-]{1,60}\/[\w.+-]{1,60}$/.test(type) && !/json$/.test(type);
  return new DecodeError(known ? `expected JSON, got ${type}` : name === 'SyntaxError' ? message : 'not UTF-8', true);
}

/**
 * Keeps unknown fields.
 * @param index zero-based position in a list, for messages
 * @throws DecodeError naming the invalid field
 */
export function decodeCategory(value: unknown, index?: number): Category {
  if (!isObject(value)) throw invalid(index, 'is not an object');
  const { id, name, description } = value;
  if (!isInt64(id)) throw invalid(index, 'has no integer id');
  if (typeof name !== 'string') throw invalid(index, 'has no name');
  if (description !== undefined && description !== null && typeof description !== 'string')
    throw invalid(index, 'has a description that is not a string');
  if (description !== null) return value as unknown as Category;
  // null means that the optional field is absent.
  const { description: _, ...rest } = value;
  return rest as unknown as Category;
}

function invalid(index: number | undefined, what: string): DecodeError {
  return new DecodeError(`${index === undefined ? 'the category' : `item ${index + 1} of the list`} ${what}`);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isInt64(value: unknown): boolean {
  if (typeof value === 'number') return Number.isSafeInteger(value);
  return typeof value === 'bigint' && value >= INT64_MIN && value <= INT64_MAX;
}
