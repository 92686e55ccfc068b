// The rule for API keys: printable ASCII without blanks.
import { PetstoreError } from '../errors.ts';

/** Longer than any key, shorter than what a header may hold; in characters. */
export const LONGEST_KEY = 4096;

/**
 * Checks a key before anything is sent (contract, section 4).
 * @param key what is to be sent as a bearer token; a program may hand in anything, as undefined where a variable is not set
 * @param from where it comes from, for the message: `PETSTORE_API_KEY`, `standard input`
 * @returns the key
 * @throws PetstoreError `auth` that names the fault and never shows the key
 */
export function checkKey(key: unknown, from: string): string {
  if (typeof key !== 'string') {
    const fault = key === undefined || key === null ? 'is missing' : 'is no text';
    throw new PetstoreError('auth', `the API key from ${from} ${fault}`, { hint: remedy(from) });
  }
  if (key === '') {
    throw new PetstoreError('auth', `the API key from ${from} is empty`, { hint: remedy(from) });
  }
  if (key.length > LONGEST_KEY) {
    throw new PetstoreError('auth', `the API key from ${from} is longer than ${LONGEST_KEY} characters`, {
      hint: remedy(from),
    });
  }
  const odd = /[^\x21-\x7e]/.exec(key)?.[0];
  if (odd === undefined) return key;
  throw new PetstoreError('auth', `the API key from ${from} holds ${nameOf(odd)}, which no key can`, {
    hint: remedy(from),
  });
}

function nameOf(char: string): string {
  if (char === ' ') return 'a space';
  if (char === '\n' || char === '\r') return 'a line break';
  if (char === '\t') return 'a tab';
  return char < ' ' || char === '\x7f' ? 'a control character' : 'a character that is not ASCII';
}

function remedy(from: string): string {
  return from === 'PETSTORE_API_KEY'
    ? 'set PETSTORE_API_KEY to the key alone, or unset it to use a stored one'
    : 'give the key alone: printable characters without blanks';
}
