// Raw requests, for `petstore api` and the client library's `request`: any method, path and JSON body.
import { PetstoreError } from '../errors.ts';
import { isSafe } from '../http/retry.ts';
import type { HttpHeaders, HttpRequest } from '../http/types.ts';
import { escapeControls } from '../text/escape.ts';
import { tryParseJson } from '../text/json.ts';

export const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

/**
 * @param method one of METHODS
 * @param path relative to the base URL, with or without a leading slash
 * @param body a JSON document
 * @param source the caller's name for the body, for a hint
 * @throws PetstoreError `usage` for a path that could leave the base URL, or a body with GET, HEAD or OPTIONS
 */
export function rawRequest(
  method: string,
  path: string,
  body: string | Uint8Array | undefined,
  source: string,
): HttpRequest {
  if (body !== undefined && isSafe(method)) {
    throw new PetstoreError('usage', `${method} requests cannot have a body`, {
      hint: `remove ${source}, or use POST`,
    });
  }
  return { method, path: pathBelowBase(path), body };
}

/** The value of a body: text if it is not JSON, null if it is empty. */
export function jsonValue(body: Uint8Array): unknown {
  if (body.length === 0) return null;
  const value = tryParseJson(body);
  return value === undefined ? new TextDecoder().decode(body) : value;
}

/**
 * Checks a path, in which `//host` and `\\host` would name another host.
 * @param text with or without a leading slash
 * @returns path and query below the base URL, beginning with one `/`
 * @throws PetstoreError `usage` if the path could leave the base URL
 */
export function pathBelowBase(text: string): string {
  const hint = 'use a path such as categories';
  // Git Bash turns `/categories` into `C:/Program Files/Git/categories`.
  if (/^(?:\/\/|[a-z]+:)/i.test(text))
    throw new PetstoreError('usage', 'the path must be relative to the base URL', { hint });
  if (/[\u0000-\u0020\u007f\\#]/.test(text)) {
    throw new PetstoreError('usage', 'the path contains a space, a control character, a backslash or "#"', {
      hint: 'escape the character, for example a space as %20',
    });
  }
  const path = text.startsWith('/') ? text : `/${text}`;
  // A gateway may decode escaped separators: the decoded path must not leave the base URL either.
  const decoded = path.replace(/%2f|%5c/gi, '/').replace(/\/+/g, '/');
  const isBelow = [path, decoded].every((one) => urlOf(one).pathname.startsWith('/v1/'));
  if (text === '' || !isBelow) throw new PetstoreError('usage', 'the path must stay below the base URL', { hint });
  const { pathname, search } = urlOf(path);
  return pathname.slice('/v1'.length) + search;
}

function urlOf(path: string): URL {
  return new URL(`http://petstore.invalid/v1${path}`);
}

/**
 * Describes deprecation, sunset and stability headers (RFC 9745, RFC 8594), and deprecations in docs/service.md.
 * @param method upper case
 * @param path below the base URL
 * @returns one sentence per header or deprecation, safe to print
 */
export function deprecationNotices(method: string, path: string, headers: HttpHeaders): readonly string[] {
  const notices = Object.entries(headers).flatMap(([name, text = '']) => {
    if (name === 'deprecation')
      return /^(?:true|\?1)$/i.test(text) ? 'is deprecated' : `is deprecated as of ${day(text)}`;
    if (name === 'sunset') return `will be removed on ${day(text)}`;
    // The service does not document which header marks beta and experimental operations.
    const unstable = /(?:^|-)stability(?:-level)?$/.test(name) && !/^(?:stable)?$/i.test(text);
    return unstable ? `is marked ${text} and may change without notice` : [];
  });
  if (method === 'GET' && /^\/pets\/[^/?]+(?:\?|$)/.test(path) && headers['deprecation'] === undefined)
    notices.push("is deprecated according to the service's documentation and will be removed");
  const operation = `${method} ${path.replace(/\?.*$/s, '')}`;
  return notices.map((notice) => escapeControls(`${operation} ${notice}`));
}

// Converts "@" and a Unix time (RFC 9745), or an HTTP date (its drafts, RFC 8594), to YYYY-MM-DD; returns other text unchanged.
function day(value: string): string {
  const at = new Date(value.startsWith('@') ? Number(value.slice(1)) * 1000 : value);
  const [date = value] = Number.isNaN(at.getTime()) ? [] : (/^\d{4}-\d\d-\d\d/.exec(at.toISOString()) ?? []);
  return date;
}
