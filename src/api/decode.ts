// Replies checked against service.md, section 2: bytes in, typed values out, or a plain word on what is wrong.

import type { Headers } from '../http/types.ts';
import { ExactNumber, parseJson } from '../json.ts';
import type { Category } from './types.ts';

/** A reply that breaks the contract of service.md; its message never quotes the reply. */
export class DecodeError extends Error {
  override readonly name = 'DecodeError';
}

const INT64_MIN = -(2n ** 63n);
const INT64_MAX = 2n ** 63n - 1n;

/**
 * Reads a body as JSON.
 * @param body the whole body
 * @param headers the reply's headers; the content type only makes the message better
 * @returns the document, every digit kept
 * @throws DecodeError where it is not UTF-8 or not JSON
 */
export function decodeJson(body: Uint8Array, headers: Headers): unknown {
  if (body.length === 0) throw new DecodeError('expected JSON, got an empty body');
  try {
    return parseJson(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch (error) {
    // Our own parser's word on nesting says more than the media type does.
    if (error instanceof SyntaxError && error.message.includes('nested')) throw new DecodeError(error.message);
    const type = mediaType(headers);
    throw new DecodeError(
      type && !/json$/.test(type) ? `expected JSON, got ${type}` : 'expected JSON, got something else',
    );
  }
}

function mediaType(headers: Headers): string | undefined {
  const value = headers['content-type'];
  const type = (typeof value === 'string' ? value : value?.[0])?.split(';')[0]?.trim().toLowerCase();
  return type && /^[\w.+-]{1,60}\/[\w.+-]{1,60}$/.test(type) ? type : undefined;
}

/**
 * Checks a list of categories (service.md, section 4).
 * @param value a JSON document
 * @returns the same array, known to hold categories only
 * @throws DecodeError naming the first element that is none
 */
export function decodeCategories(value: unknown): readonly Category[] {
  if (!Array.isArray(value)) throw new DecodeError(`expected an array of categories, got ${kindOf(value)}`);
  return value.map((item, index) => decodeCategory(item, `category ${index + 1}`));
}

/**
 * Checks one category (service.md, section 2).
 * @param value a JSON value
 * @param what how a message names it
 * @returns the category, extra fields kept
 * @throws DecodeError naming the field that is wrong
 */
export function decodeCategory(value: unknown, what = 'the category'): Category {
  if (!isRecord(value)) throw new DecodeError(`${what} is ${kindOf(value)}, not an object`);
  const { id, name, description } = value;
  if (!isInt64(id)) throw new DecodeError(`${what} has no integer id`);
  if (typeof name !== 'string') throw new DecodeError(`${what} has no name`);
  if (description !== undefined && description !== null && typeof description !== 'string') {
    throw new DecodeError(`${what} has a description that is ${kindOf(description)}, not text`);
  }
  if (description !== null) return value as unknown as Category;
  // An optional field sent as null is read as left out.
  const { description: _, ...rest } = value;
  return rest as unknown as Category;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof ExactNumber);
}

function isInt64(value: unknown): boolean {
  if (typeof value === 'number') return Number.isSafeInteger(value);
  return typeof value === 'bigint' && value >= INT64_MIN && value <= INT64_MAX;
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'object' && !(value instanceof ExactNumber)) return 'an object';
  return typeof value === 'string' ? 'text' : typeof value === 'boolean' ? 'true or false' : 'a number';
}
