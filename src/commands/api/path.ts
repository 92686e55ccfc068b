// Which paths `petstore api` may be given: whatever is typed, the request stays below the base URL, and so does the key.
import { PetstoreError } from '../../errors.ts';

// Stands for any base URL: what leaves this one would leave every other.
const BASE = new URL('http://petstore.invalid/v1');

/**
 * Checks and normalises a path (faults: a path such as `//host` or `\\host` would carry the key to another host).
 * @param text what was typed
 * @returns path and query below the base URL, beginning with one `/`, as they are to be sent
 * @throws PetstoreError `usage` where it could leave the base URL
 */
export function pathBelowBase(text: string): string {
  if (/[\u0000-\u0020\u007f\\]/.test(text)) throw refused('a path holds no blanks, control characters or backslashes');
  if (!text.startsWith('/') || text.startsWith('//')) throw refused('a path begins with exactly one /');
  if (text.includes('#')) throw refused('a path has no # part; write %23 for the character');
  let url: URL;
  try {
    url = new URL(BASE.href + text);
  } catch {
    throw refused('that is no path of a URL');
  }
  // A service behind a gateway may decode what stands for a separator: such a path must not leave the base URL either.
  const decoded = text.replace(/%2f/gi, '/').replace(/%5c/gi, '/');
  if (decoded !== text) pathBelowBase(decoded.replace(/\/+/g, '/'));
  const below = url.origin === BASE.origin && url.pathname.startsWith(`${BASE.pathname}/`);
  if (!below || url.username !== '' || url.password !== '') throw refused('that path leaves the base URL');
  return url.pathname.slice(BASE.pathname.length) + url.search;
}

function refused(why: string): PetstoreError {
  return new PetstoreError('usage', `${why}; nothing was sent`, {
    hint: 'give the path below the base URL, for example /categories',
  });
}
