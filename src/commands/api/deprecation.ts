// Reports operations that a response marks by Deprecation (RFC 9745), Sunset (RFC 8594) or a stability header.
import { escapeControls } from '../../escape.ts';
import type { HttpHeaders } from '../../http/types.ts';

const LONGEST = 300;

/**
 * Describes the markers of one response, and deprecations stated in docs/service.md.
 * @param method upper case
 * @param path below the base URL
 * @returns one sentence per marker, safe to print
 */
export function deprecationNotices(method: string, path: string, headers: HttpHeaders): readonly string[] {
  const notices = Object.entries(headers).flatMap(([name, value]) => {
    const text = [value ?? ''].flat()[0] ?? '';
    if (name === 'deprecation') return deprecated(text);
    if (name === 'sunset') return `will be removed on ${day(text) ?? text}`;
    // The service does not document which header marks beta and experimental operations.
    const unstable = /(?:^|-)stability(?:-level)?$/.test(name) && !/^(?:stable)?$/i.test(text);
    return unstable ? `is marked ${text} and may change without notice` : [];
  });
  if (method === 'GET' && /^\/pets\/[^/?]+(?:\?|$)/.test(path) && headers['deprecation'] === undefined)
    notices.push("is deprecated according to the service's documentation and will be removed");
  const operation = `${method} ${path.replace(/\?.*$/s, '')}`;
  return notices.map((notice) => escapeControls(`${operation} ${notice}`.slice(0, LONGEST)));
}

// RFC 9745: "@" and a Unix time; its drafts had an HTTP date, or "true".
function deprecated(value: string): string {
  if (/^(?:true|\?1)$/i.test(value)) return 'is deprecated';
  const since = day(value);
  return since ? `has been deprecated since ${since}` : `is deprecated (${value})`;
}

function day(value: string): string | undefined {
  const at = new Date(value.startsWith('@') ? Number(value.slice(1)) * 1000 : value);
  return Number.isNaN(at.getTime()) ? undefined : /^\d{4}-\d\d-\d\d/.exec(at.toISOString())?.[0];
}
