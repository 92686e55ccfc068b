// Checks the arguments of a library call: JavaScript programs may pass anything.
import { PetstoreError } from '../errors.ts';
import type { HttpRequest } from '../http/types.ts';
import { checkOptions, invalidValueError } from '../settings/check-options.ts';
import { formatChoices } from '../text/format.ts';
import { stringifyJson } from '../text/json.ts';
import { METHODS, rawRequest } from './raw-request.ts';
import type { CategoryId, NewCategory } from './types.ts';
import { newCategoryProblem } from './types.ts';

/** @throws PetstoreError `usage` unless the value is a name or an object with an id */
export function checkWanted(given: unknown): string | CategoryId {
  if (typeof given === 'string' && given !== '') return given;
  const { id } = Object(given) as Partial<CategoryId>;
  if (typeof id === 'bigint' || Number.isSafeInteger(id)) return { id } as CategoryId;
  throw new PetstoreError('usage', 'the category must be a name, or { id } with a whole number');
}

/** @throws PetstoreError `usage` unless the values can be sent as a new category */
export function checkNewCategory(given: unknown): NewCategory {
  const fields = ['name', 'description'];
  const { name, description } = checkOptions<Partial<NewCategory>>(given, fields, 'a category', 'field');
  const problem = description === null ? 'description must be a string' : newCategoryProblem(name, description);
  if (problem !== undefined) throw new PetstoreError('usage', `the ${problem}`);
  return { name: name as string, description };
}

/**
 * Builds a raw request.
 * @param body text is sent as it is; any other value is serialized
 * @throws PetstoreError `usage`
 */
export function checkedRequest(method: unknown, path: unknown, body: unknown): HttpRequest {
  const known = METHODS.find((one) => one === String(method).toUpperCase());
  if (!known) throw invalidValueError(method, 'method', `use ${formatChoices(METHODS)}`);
  if (typeof path !== 'string') throw new PetstoreError('usage', 'path must be a string');
  return rawRequest(known, path, body === undefined ? undefined : jsonText(body), 'the body');
}

function jsonText(body: unknown): string {
  try {
    const text = typeof body === 'string' ? body : stringifyJson(body);
    JSON.parse(text);
    // JSON has no functions and symbols, and UTF-8 cannot encode half of a surrogate pair.
    if (!/^(?:function|symbol)$/.test(typeof body) && !/\p{Surrogate}/u.test(text)) return text;
  } catch {
    // Text that is not JSON, or an object with a cycle.
  }
  throw new PetstoreError('usage', 'body is not valid JSON');
}
