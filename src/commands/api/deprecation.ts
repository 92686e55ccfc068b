// What an answer says of the operation's future: Deprecation (RFC 9745), Sunset (RFC 8594), stability markers.

import { escapeControls } from '../../escape.ts';
import type { HttpHeaders } from '../../http/types.ts';

const LONGEST = 200;

/**
 * Reads the markers of one answer, and adds what service.md (sections 1 and 9) says of the operation.
 * @param method of the request, upper case
 * @param path below the base URL
 * @param headers of the answer
 * @returns one sentence per marker, safe to print; none where there is nothing to say
 */
export function deprecationNotices(method: string, path: string, headers: HttpHeaders): readonly string[] {
  const operation = `${method} ${escapeControls(path.replace(/\?.*$/s, ''))}`;
  const deprecation = first(headers['deprecation']);
  const sunset = first(headers['sunset']);
  const sentences: string[] = [];
  if (deprecation !== undefined) sentences.push(`${operation} is deprecated${since(deprecation)}`);
  else if (isKnownDeprecated(method, path)) {
    sentences.push(`${operation} is deprecated: the service's document says so, and that it will end`);
  }
  if (sunset !== undefined) sentences.push(`${operation} will stop working: sunset ${date(sunset)}`);
  for (const [name, value] of Object.entries(headers)) {
    const text = first(value);
    // Which header carries `experimental` or `beta` is not documented: whatever is called stability is taken at its word.
    if (/(?:^|-)stability(?:-level)?$/.test(name) && text && !/^stable$/i.test(text)) {
      sentences.push(`${operation} is marked ${short(text)}: it may change or go without notice`);
    }
  }
  return sentences;
}

/**
 * @param method upper case
 * @param path below the base URL
 * @returns true for the one operation that the service's document itself marks as deprecated
 */
function isKnownDeprecated(method: string, path: string): boolean {
  return method === 'GET' && /^\/pets\/[^/?]+(?:\?|$)/.test(path);
}

// RFC 9745: "@" and a Unix time; its drafts had an HTTP date, or just "true".
function since(value: string): string {
  const unix = /^@(-?\d{1,10})$/.exec(value.trim())?.[1];
  if (unix !== undefined) return whenever(Number(unix) * 1000);
  if (/^(?:true|\?1)$/i.test(value.trim())) return '';
  const at = Date.parse(value);
  return Number.isNaN(at) ? ` (${short(value)})` : whenever(at);
}

function whenever(at: number): string {
  return ` since ${new Date(at).toISOString().slice(0, 10)}`;
}

function date(value: string): string {
  const at = Date.parse(value);
  return Number.isNaN(at) ? short(value) : new Date(at).toISOString().slice(0, 10);
}

function short(value: string): string {
  return escapeControls(value.length > LONGEST ? `${value.slice(0, LONGEST)}…` : value);
}

function first(value: string | readonly string[] | undefined): string | undefined {
  return typeof value === 'string' ? value : value?.[0];
}
