// Which paths `petstore api` accepts: the request stays below the base URL, and so does the key.
import { PetstoreError } from '../../errors.ts';

// Stands for any base URL: what leaves this one would leave every other.
const BASE = new URL('http://petstore.invalid/v1');

/**
 * Checks a path; `//host` or `\\host` would carry the key to another host.
 * @param text with or without a leading slash
 * @returns path and query below the base URL, beginning with one `/`
 * @throws PetstoreError `usage` where it could leave the base URL
 */
export function pathBelowBase(text: string): string {
  if (text === '') throw refused('is empty');
  if (/[\u0000-\u0020\u007f\\]/.test(text)) throw refused('contains a space, control character or backslash');
  if (text.startsWith('//') || /^[a-z]+:/i.test(text)) throw refused('names another host');
  if (text.includes('#')) throw refused('contains a #; write %23 for the character');
  const path = text.startsWith('/') ? text : `/${text}`;
  if (!URL.canParse(BASE.href + path)) throw refused('is not a valid URL path');
  const url = new URL(BASE.href + path);
  // A gateway may decode escaped separators: the decoded path must not leave the base URL either.
  const decoded = path.replace(/%2f/gi, '/').replace(/%5c/gi, '/');
  if (decoded !== path) pathBelowBase(decoded.replace(/\/+/g, '/'));
  const below = url.origin === BASE.origin && url.pathname.startsWith(`${BASE.pathname}/`);
  if (!below || url.username !== '' || url.password !== '') throw refused('leaves the base URL');
  return url.pathname.slice(BASE.pathname.length) + url.search;
}

function refused(problem: string): PetstoreError {
  return new PetstoreError('usage', `the path ${problem}; nothing was sent`, {
    hint: 'use a path below the base URL, for example `petstore api GET categories`',
  });
}
