// Reports operations that a response marks by Deprecation (RFC 9745), Sunset (RFC 8594) or a stability header.
import { escapeControls } from '../../escape.ts';
import type { HttpHeaders } from '../../http/types.ts';

const LONGEST = 200;

/**
 * Describes the markers of one response, and deprecations stated in docs/service.md.
 * @param method upper case
 * @param path below the base URL
 * @returns one sentence per marker, safe to print
 */
export function deprecationNotices(method: string, path: string, headers: HttpHeaders): readonly string[] {
  const operation = `${method} ${escapeControls(path.replace(/\?.*$/s, ''))}`;
  const deprecation = first(headers['deprecation']);
  const sunset = first(headers['sunset']);
  const sentences: string[] = [];
  if (deprecation !== undefined) sentences.push(`${operation} ${deprecatedSince(deprecation)}`);
  else if (method === 'GET' && /^\/pets\/[^/?]+(?:\?|$)/.test(path)) {
    sentences.push(`${operation} is deprecated according to the service's documentation and will be removed`);
  }
  if (sunset !== undefined) {
    const at = Date.parse(sunset);
    sentences.push(`${operation} will be removed on ${Number.isNaN(at) ? short(sunset) : isoDate(at)}`);
  }
  for (const [name, value] of Object.entries(headers)) {
    const text = first(value);
    // The service does not document which header marks beta and experimental operations.
    if (/(?:^|-)stability(?:-level)?$/.test(name) && text && !/^stable$/i.test(text)) {
      sentences.push(`${operation} is marked ${short(text)} and may change without notice`);
    }
  }
  return sentences;
}

// RFC 9745: "@" and a Unix time; its drafts had an HTTP date, or "true".
function deprecatedSince(value: string): string {
  if (/^(?:true|\?1)$/i.test(value.trim())) return 'is deprecated';
  const unix = /^@(-?\d{1,10})$/.exec(value.trim())?.[1];
  const at = unix === undefined ? Date.parse(value) : Number(unix) * 1000;
  return Number.isNaN(at) ? `is deprecated (${short(value)})` : `has been deprecated since ${isoDate(at)}`;
}

function isoDate(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}

function short(value: string): string {
  return escapeControls(value.length > LONGEST ? `${value.slice(0, LONGEST)}…` : value);
}

function first(value: string | readonly string[] | undefined): string | undefined {
  return typeof value === 'string' ? value : value?.[0];
}
