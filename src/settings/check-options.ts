// Checks the values of options, and the options of the library at run time: JavaScript callers may misspell them.
import { MAX_TIMER_MS } from '../clock.ts';
import { PetstoreError } from '../errors.ts';
import { escapeControls } from '../text/escape.ts';
import { formatChoices, formatNumber } from '../text/format.ts';

/**
 * @param of the owner of the options, for messages
 * @throws PetstoreError `usage` if the options are not an object or one of them is unknown
 */
export function checkOptions<T extends object>(
  options: unknown,
  names: readonly string[],
  of: string,
  option = 'option',
): T {
  if (options !== undefined && typeof options !== 'object') {
    throw new PetstoreError('usage', `${option === 'field' ? of : `the options of ${of}`} must be an object`);
  }
  const unknown = Object.keys(options ?? {}).find((name) => !names.includes(name));
  if (unknown === undefined) return (options ?? {}) as T;
  const hint = `use ${formatChoices(names)}`;
  const place = option === 'field' ? `in ${of}` : `for ${of}`;
  throw new PetstoreError('usage', `unknown ${option} "${escapeControls(unknown)}" ${place}`, { hint });
}

/** @throws PetstoreError `usage` unless the value is undefined or a path */
export function checkPath(value: unknown, name: string): string | undefined {
  if (value === undefined || (typeof value === 'string' && /^[^\0]+$/.test(value))) return value;
  throw new PetstoreError('usage', `${name} must be a path`);
}

/** @throws PetstoreError `usage` unless the value, a number or its digits, is a whole number in this range */
export function checkWholeNumber(value: unknown, name: string, least: number, most: number): number {
  const isScalar = typeof value === 'number' || typeof value === 'string';
  const number = isScalar && /^\d{1,10}$/.test(String(value)) ? Number(value) : Number.NaN;
  if (number >= least && number <= most) return number;
  throw invalidValueError(value, name, `use a whole number from ${least} to ${formatNumber(most)}`, 'number');
}

/** The error for an option with an invalid value; `what` names the value or its invalid part, for example `duration`. */
export function invalidValueError(value: unknown, name: string, hint: string, what = 'value'): PetstoreError {
  const shown = escapeControls(JSON.stringify(String(value)));
  return new PetstoreError('usage', `invalid ${what} ${shown} for ${name}`, { hint });
}

/** Returns a function that calls the listener later, so that its exception does not end a call. */
export function checkListener<T>(value: ((given: T) => void) | undefined, name: string): (given: T) => void {
  if (value === undefined) return () => undefined;
  if (typeof value !== 'function') throw new PetstoreError('usage', `${name} must be a function`);
  return (given) => queueMicrotask(() => value(given));
}

/** @throws PetstoreError `usage` unless the value is a number of at least 0 */
export function checkAtLeastZero(value: unknown, name: string): number {
  if (Number.isFinite(value) && Number(value) >= 0) return Number(value);
  throw new PetstoreError('usage', `${name} must be a number of at least 0`);
}

/**
 * With a timeout of 0, the outcome of a create would always be unknown.
 * @returns whole milliseconds, at most MAX_TIMER_MS
 */
export function checkTimeout(value: unknown): number {
  const ms = Math.ceil(checkAtLeastZero(value, 'timeoutMs'));
  if (ms > 0) return Math.min(MAX_TIMER_MS, ms);
  throw new PetstoreError('usage', 'timeoutMs must be greater than 0');
}

/** Why values cannot be sent as a new category: a rule of the service, or text that UTF-8 cannot encode. */
export function newCategoryProblem(name: unknown, description: unknown): string | undefined {
  if (name === undefined) return 'name is missing';
  if (typeof name !== 'string') return 'name must be a string';
  if (/^[\s\0]*$/.test(name)) return 'name is blank';
  if (typeof (description ?? '') !== 'string') return 'description must be a string';
  if (/\p{Surrogate}/u.test(name)) return 'name contains an unpaired surrogate';
  if (/\p{Surrogate}/u.test(String(description))) return 'description contains an unpaired surrogate';
  return undefined;
}
