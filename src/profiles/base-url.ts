// The rule for base URLs: https, or http on loopback, ending in /v1.
import { PetstoreError } from '../errors.ts';
import { looksLikeKey, withoutSecretKeys } from '../redact.ts';

/** A base URL that keeps the rule, or what is wrong with it. */
export type BaseUrl =
  | { readonly url: string; readonly origin: string }
  | {
      readonly problem: string;
      /** The same address with /v1, where that is all it lacks and nothing in it looks like a key. */
      readonly suggestion?: string;
    };

/**
 * Reads a base URL (contract, section 4; service.md, section 9: addresses end in `/v1`).
 * @param text what was typed or stored
 * @returns the URL without trailing slash and its origin; or the problem, which never quotes the text (it may hold a password)
 */
export function parseBaseUrl(text: string): BaseUrl {
  if (text === '') return { problem: 'it is empty' };
  // What `new URL` would silently drop or turn round: blanks, control characters, backslashes.
  if (/[\s\\\p{Cc}\p{Cf}]/u.test(text)) return { problem: 'it holds a blank, a backslash or a control character' };
  if (!/^https?:\/\/[^/]/i.test(text) || !URL.canParse(text)) {
    return { problem: 'it is no address that begins with https://' };
  }
  const url = new URL(text);
  if (url.username !== '' || url.password !== '' || /^https?:\/\/[^/?#]*@/i.test(text)) {
    return { problem: 'it holds user info (NAME:PASSWORD@), which is refused' };
  }
  if (text.includes('?') || text.includes('#')) return { problem: 'it holds a query or a fragment, which are refused' };
  if (url.protocol === 'http:' && !isLoopback(url.hostname)) {
    return { problem: 'it is http, which would send the key in clear text; http goes to loopback only' };
  }
  const path = url.pathname.replace(/\/$/, '');
  if (/%2f|%5c|%2e|\/\//i.test(path)) return { problem: 'its path holds an escaped or doubled slash or dot' };
  if (!path.endsWith('/v1')) {
    const problem = 'it does not end in the version segment /v1';
    return holdsKey(url) ? { problem } : { problem, suggestion: `${url.origin}${path}/v1` };
  }
  return { url: `${url.origin}${path}`, origin: url.origin };
}

// A key pasted where the address belongs is not offered back. Hosts and paths have plain names that begin like a key, too.
function holdsKey(url: URL): boolean {
  const parts = [...(url.hostname.includes('.') ? [] : [url.hostname]), ...url.pathname.split('/')];
  return withoutSecretKeys(url.href) !== url.href || parts.some((part) => part.length >= 16 && looksLikeKey(part));
}

/**
 * Reads a base URL that was given by hand.
 * @param text what was given; a program may hand in anything
 * @param from where it was given, for the message: `--url`, `PETSTORE_BASE_URL`
 * @returns the URL and its origin
 * @throws PetstoreError `usage` saying what is wrong
 */
export function checkBaseUrl(text: unknown, from: string): { readonly url: string; readonly origin: string } {
  const parsed = typeof text === 'string' ? parseBaseUrl(text) : noText(text);
  if ('url' in parsed) return parsed;
  throw new PetstoreError('usage', `the URL in ${from} cannot be used: ${parsed.problem}`, {
    hint: parsed.suggestion ? `did you mean ${parsed.suggestion}?` : 'write it like https://HOST/v1',
  });
}

function noText(given: unknown): Extract<BaseUrl, { readonly problem: string }> {
  return { problem: given === undefined || given === null ? 'it is missing' : 'it is no text' };
}

/**
 * The URL parser has made 127.1, 0x7f.1 and their kind 127.0.0.1 already, and names lower-case.
 * @param hostname as `URL.hostname` gives it, an IPv6 address in brackets
 * @returns true for this machine: 127.0.0.0/8, ::1 and localhost
 */
export function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname);
}
