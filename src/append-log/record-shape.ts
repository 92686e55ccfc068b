// Validates values read from a log, since a damaged record must not decide anything.

export type Check = (value: unknown) => boolean;

// The range of a Date.
const LARGEST = 8.64e15;

export const isNumber: Check = (value) => typeof value === 'number' && Math.abs(value) <= LARGEST;
/** A non-negative integer. */
export const isCount: Check = (value) => Number.isSafeInteger(value) && (value as number) >= 0;
export const isBoolean: Check = (value) => typeof value === 'boolean';
export const isText: Check = (value) => typeof value === 'string';

export function oneOf(...values: readonly unknown[]): Check {
  return (value) => values.includes(value);
}

export function optional(check: Check): Check {
  return (value) => value === undefined || check(value);
}

export function listOf(check: Check): Check {
  return (value) => Array.isArray(value) && value.every(check);
}

export function pair(first: Check, second: Check): Check {
  return (value) => Array.isArray(value) && value.length === 2 && first(value[0]) && second(value[1]);
}

export function shape(checks: Readonly<Record<string, Check>>): Check {
  const fields = Object.entries(checks);
  const holds = (value: Readonly<Record<string, unknown>>): boolean =>
    fields.every(([name, check]) => check(value[name]));
  return (value) => typeof value === 'object' && value !== null && holds(value as Record<string, unknown>);
}

/** Returns undefined if the text is not JSON. */
export function tryParseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
