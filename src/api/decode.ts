// Checks responses against docs/service.md (data): bytes in, typed values out.
import type { Hint } from '../errors.ts';
import { PetstoreError } from '../errors.ts';
import { CHECK_URL } from '../http/request-errors.ts';
import type { HttpResponse } from '../http/types.ts';
import type { Category } from '../public-types.ts';
import { isJsonObject, parseJson } from '../text/json.ts';

const INT64_MIN = -(2n ** 63n);
const INT64_MAX = 2n ** 63n - 1n;

/** @throws PetstoreError `service` if the body is not a list of categories; the message never quotes the body */
export function decodeList(response: HttpResponse): readonly Category[] {
  const value = decodeJson(response);
  if (!Array.isArray(value)) throw invalidResponseError(response, 'expected an array of categories', CHECK_URL);
  return value.map((item, index) =>
    decodeCategory(item, (what) => invalidResponseError(response, `item ${index + 1} of the list ${what}`)),
  );
}

/** Whether a list is one page of several: its `Link` names the next one (RFC 8288). */
export function hasNextPage({ headers }: HttpResponse): boolean {
  const links = (headers['link'] ?? '').replace(/<[^>]*>/g, '');
  return /;\s*rel\s*=\s*"?[^";,]*\bnext\b/i.test(links);
}

/** @throws PetstoreError `service` if the body is not a category; the message never quotes the body */
export function decodeCreated(response: HttpResponse): Category {
  return decodeCategory(decodeJson(response), (what) => invalidResponseError(response, `the category ${what}`));
}

function decodeJson(response: HttpResponse): unknown {
  const { body, headers } = response;
  if (body.length === 0) throw invalidResponseError(response, 'expected JSON, got an empty body', CHECK_URL);
  try {
    return parseJson(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch (error) {
    // The content type is the clearest explanation of a body that is not JSON.
    const type = headers['content-type']?.split(';')[0]?.trim().toLowerCase() ?? '';
    const isKnown = /^[\w.+-]{1,60}\/[\w.+-]{1,60}$/.test(type) && !/json$/.test(type);
    const { name, message } = error as Error;
    const problem = name === 'SyntaxError' ? message : 'not UTF-8';
    throw invalidResponseError(response, isKnown ? `expected JSON, got ${type}` : problem, CHECK_URL);
  }
}

// Keeps unknown fields.
function decodeCategory(value: unknown, fault: (what: string) => PetstoreError): Category {
  if (!isJsonObject(value)) throw fault('is not an object');
  const { id, name, description } = value;
  if (!isInt64(id)) throw fault('has no integer id');
  if (typeof name !== 'string') throw fault('has no name');
  if (description !== undefined && description !== null && typeof description !== 'string')
    throw fault('has a description that is not a string');
  if (description !== null) return value as unknown as Category;
  // null means that the optional field is absent.
  const { description: _, ...rest } = value;
  return rest as unknown as Category;
}

// Give a hint only if the body is not JSON or the list is not an array: another server may have responded.
function invalidResponseError({ status }: HttpResponse, problem: string, hint?: Hint): PetstoreError {
  return new PetstoreError('service', `invalid response: ${problem}`, { status, problem, ...hint });
}

function isInt64(value: unknown): boolean {
  if (typeof value === 'number') return Number.isSafeInteger(value);
  return typeof value === 'bigint' && value >= INT64_MIN && value <= INT64_MAX;
}
