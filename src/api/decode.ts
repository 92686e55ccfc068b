// Replies checked against service.md, section 2: bytes in, typed values out, or a plain word on what is wrong.
import { Buffer, isUtf8 } from 'node:buffer';
import type { HttpHeaders } from '../http/types.ts';
import { exceedsDepth, isOpaqueNumber, MAX_DEPTH, parseJson } from '../json.ts';
import type { Category } from './types.ts';

/** A reply that breaks the contract of service.md; its message never quotes the reply. */
export class DecodeError extends Error {
  override readonly name = 'DecodeError';
}

/** The fields of service.md, section 2: known to be no deeper than text. */
const DOCUMENTED = new Set(['id', 'name', 'description']);
const INT64_MIN = -(2n ** 63n);
const INT64_MAX = 2n ** 63n - 1n;

/**
 * Reads a body as JSON.
 * @param body the whole body
 * @param headers the reply's headers; the content type only makes the message better
 * @returns the document, every digit kept
 * @throws DecodeError where it is not UTF-8 or not JSON
 */
export function decodeJson(body: Uint8Array, headers: HttpHeaders): unknown {
  if (body.length === 0) throw new DecodeError('expected JSON, got an empty body');
  try {
    // How deep it is nested is looked at field by field below.
    return parseJson(utf8(body), Number.POSITIVE_INFINITY);
  } catch {
    const type = mediaType(headers);
    throw new DecodeError(
      type && !/json$/.test(type) ? `expected JSON, got ${type}` : 'expected JSON, got something else',
    );
  }
}

// TextDecoder gives two bytes a character on Node 20, and makes a long list take twice the time and memory.
function utf8(body: Uint8Array): string {
  if (!isUtf8(body)) throw new DecodeError('not UTF-8');
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString();
  return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
}

function mediaType(headers: HttpHeaders): string | undefined {
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
  return value.map(decodeCategory);
}

/**
 * Checks one category (service.md, section 2).
 * @param value a JSON value
 * @param index its place in a list, from 0, for messages; left out for a category alone
 * @returns the category, extra fields kept
 * @throws DecodeError naming the field that is wrong
 */
export function decodeCategory(value: unknown, index?: number): Category {
  if (!isRecord(value)) throw wrong(index, `is ${kindOf(value)}, not an object`);
  const { id, name, description } = value;
  if (!isInt64(id)) throw wrong(index, 'has no integer id');
  if (typeof name !== 'string') throw wrong(index, 'has no name');
  if (description !== undefined && description !== null && typeof description !== 'string') {
    throw wrong(index, `has a description that is ${kindOf(description)}, not text`);
  }
  for (const field in value) {
    if (DOCUMENTED.has(field) || !exceedsDepth(value[field], MAX_DEPTH - 2)) continue;
    throw wrong(index, `is nested more than ${MAX_DEPTH} levels deep`);
  }
  if (description !== null) return value as unknown as Category;
  // An optional field sent as null is read as left out.
  const { description: _, ...rest } = value;
  return rest as unknown as Category;
}

// The sentence is made only where it is needed: a list may have a hundred thousand elements.
function wrong(index: number | undefined, what: string): DecodeError {
  return new DecodeError(`${index === undefined ? 'the category' : `category ${index + 1}`} ${what}`);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isOpaqueNumber(value);
}

function isInt64(value: unknown): boolean {
  if (typeof value === 'number') return Number.isSafeInteger(value);
  return typeof value === 'bigint' && value >= INT64_MIN && value <= INT64_MAX;
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'object' && !isOpaqueNumber(value)) return 'an object';
  return typeof value === 'string' ? 'text' : typeof value === 'boolean' ? 'true or false' : 'a number';
}
