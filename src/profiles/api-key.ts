// The rule for API keys: printable ASCII without spaces.
import { PetstoreError } from '../errors.ts';

/** In characters. */
export const LONGEST_KEY = 4096;

/** @throws PetstoreError `auth` that never contains the key */
export function checkKey(key: unknown, from: string): string {
  const fault = faultOf(key);
  if (fault === undefined) return key as string;
  const hint =
    from === 'PETSTORE_API_KEY'
      ? 'set PETSTORE_API_KEY to the key alone, or unset it to use the stored key'
      : 'provide the key alone, as printable characters without spaces';
  throw new PetstoreError('auth', `the API key from ${from} ${fault}`, { hint });
}

function faultOf(key: unknown): string | undefined {
  if (key === undefined || key === null) return 'is missing';
  if (typeof key !== 'string') return 'is not a string';
  if (key === '') return 'is empty';
  if (key.length > LONGEST_KEY) return `is longer than ${LONGEST_KEY} characters`;
  const invalid = /[^\x21-\x7e]/.exec(key)?.[0];
  return invalid === undefined ? undefined : `contains ${nameOf(invalid)}; API keys cannot`;
}

function nameOf(char: string): string {
  if (char === ' ') return 'a space';
  if (char === '\n' || char === '\r') return 'a line break';
  if (char === '\t') return 'a tab';
  return char < ' ' || char === '\x7f' ? 'a control character' : 'a non-ASCII character';
}
