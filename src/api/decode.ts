// Checks responses against docs/service.md (resources): bytes in, typed values out.
import { Buffer, isUtf8 } from 'node:buffer';
import type { HttpHeaders } from '../http/types.ts';
import { exceedsDepth, isOpaqueNumber, MAX_DEPTH, parseJson } from '../json.ts';
import type { Category } from './types.ts';

/** A response that breaks the service's contract; the message never quotes it. */
export class DecodeError extends Error {
  override readonly name = 'DecodeError';
}

const DOCUMENTED = new Set(['id', 'name', 'description']);
const INT64_MIN = -(2n ** 63n);
const INT64_MAX = 2n ** 63n - 1n;

/** @throws DecodeError where the body is not UTF-8 or not JSON */
export function decodeJson(body: Uint8Array, headers: HttpHeaders): unknown {
  if (body.length === 0) throw new DecodeError('expected JSON, got an empty body');
  try {
    // The depth is checked field by field below.
    return parseJson(utf8(body), Number.POSITIVE_INFINITY);
  } catch {
    const type = mediaType(headers);
    throw new DecodeError(`expected JSON, got ${type && !/json$/.test(type) ? type : 'something else'}`);
  }
}

// On Node 20 TextDecoder returns two-byte strings, which doubles time and memory for a long list.
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

/** @throws DecodeError naming the first element that is not a category */
export function decodeCategories(value: unknown): readonly Category[] {
  if (!Array.isArray(value)) throw new DecodeError(`expected an array of categories, got ${kindOf(value)}`);
  return value.map(decodeCategory);
}

/**
 * Keeps extra fields.
 * @param index position in a list from 0, for messages
 * @throws DecodeError naming the field that is wrong
 */
export function decodeCategory(value: unknown, index?: number): Category {
  if (!isObject(value)) throw invalid(index, `is ${kindOf(value)}, not an object`);
  const { id, name, description } = value;
  if (!isInt64(id)) throw invalid(index, 'has no integer id');
  if (typeof name !== 'string') throw invalid(index, 'has no name');
  if (description !== undefined && description !== null && typeof description !== 'string') {
    throw invalid(index, `has a description that is ${kindOf(description)}, not a string`);
  }
  for (const field in value) {
    if (DOCUMENTED.has(field) || !exceedsDepth(value[field], MAX_DEPTH - 2)) continue;
    throw invalid(index, `is nested more than ${MAX_DEPTH} levels deep`);
  }
  if (description !== null) return value as unknown as Category;
  // null means that the optional field is absent.
  const { description: _, ...rest } = value;
  return rest as unknown as Category;
}

function invalid(index: number | undefined, what: string): DecodeError {
  return new DecodeError(`${index === undefined ? 'the category' : `category ${index + 1}`} ${what}`);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isOpaqueNumber(value);
}

function isInt64(value: unknown): boolean {
  if (typeof value === 'number') return Number.isSafeInteger(value);
  return typeof value === 'bigint' && value >= INT64_MIN && value <= INT64_MAX;
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  if (isObject(value)) return 'an object';
  return typeof value === 'string' ? 'a string' : typeof value === 'boolean' ? 'a boolean' : 'a number';
}
