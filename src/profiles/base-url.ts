// The rule for base URLs: https, or http on loopback, ending in /v1.
import { PetstoreError } from '../errors.ts';
import { looksLikeKey, withoutSecretKeys } from '../redact.ts';

export interface Address {
  readonly url: string;
  readonly origin: string;
}

/** A valid base URL, or what is wrong with it. */
export type BaseUrl =
  | Address
  | {
      readonly problem: string;
      /** The same URL with /v1, where only that is missing and nothing in it looks like a key. */
      readonly suggestion?: string;
    };

/** A problem never quotes the text, which may contain a password (docs/cli.md, profiles; docs/service.md, versioning). */
export function parseBaseUrl(text: string): BaseUrl {
  if (text === '') return { problem: 'it is empty' };
  // `new URL` would silently drop or convert these.
  if (/[\s\\\p{Cc}\p{Cf}]/u.test(text)) return { problem: 'it contains a space, a backslash or a control character' };
  if (!/^https?:\/\/[^/]/i.test(text) || !URL.canParse(text)) return { problem: 'it must start with https://' };
  const url = new URL(text);
  if (url.username !== '' || url.password !== '' || /^https?:\/\/[^/?#]*@/i.test(text)) {
    return { problem: 'it must not contain user info (NAME:PASSWORD@)' };
  }
  if (text.includes('?') || text.includes('#')) return { problem: 'it must not contain a query or a fragment' };
  if (url.protocol === 'http:' && !isLoopback(url.hostname)) {
    return { problem: 'http would send the key unencrypted; it is allowed for loopback addresses only' };
  }
  const path = url.pathname.replace(/\/$/, '');
  if (/%2f|%5c|%2e|\/\//i.test(path))
    return { problem: 'its path contains an escaped dot, or an escaped or double slash' };
  if (!path.endsWith('/v1')) {
    const problem = 'it must end in /v1';
    return containsKey(url) ? { problem } : { problem, suggestion: `${url.origin}${path}/v1` };
  }
  return { url: `${url.origin}${path}`, origin: url.origin };
}

// Hosts and paths have ordinary names that start like a key, so only long parts are suspected.
function containsKey(url: URL): boolean {
  const parts = [...(url.hostname.includes('.') ? [] : [url.hostname]), ...url.pathname.split('/')];
  return withoutSecretKeys(url.href) !== url.href || parts.some((part) => part.length >= 16 && looksLikeKey(part));
}

/** @throws PetstoreError `usage` */
export function checkBaseUrl(text: unknown, from: string): Address {
  const parsed = typeof text === 'string' ? parseBaseUrl(text) : notText(text);
  if ('url' in parsed) return parsed;
  throw new PetstoreError('usage', `the base URL in ${from} is invalid: ${parsed.problem}`, {
    hint: parsed.suggestion ? `did you mean ${parsed.suggestion}?` : 'write it as https://HOST/v1',
  });
}

function notText(value: unknown): Extract<BaseUrl, { readonly problem: string }> {
  return { problem: value === undefined || value === null ? 'it is missing' : 'it is not a string' };
}

/** @param hostname from `URL.hostname`, which has normalised forms such as 127.1 and 0x7f.1 */
export function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname);
}
