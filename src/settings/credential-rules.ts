// The rules for base URLs (https, or http on loopback, ending in /v1) and API keys (printable ASCII without spaces).
import { PetstoreError } from '../errors.ts';
import { formatNumber } from '../text/format.ts';

export interface BaseUrl {
  readonly url: string;
  readonly origin: string;
}

/**
 * Checks a base URL against the rules in docs/cli.md (profiles and keys).
 * @returns `problem` if the URL is invalid; it never quotes the text, which may contain a password
 */
export function parseBaseUrl(text: unknown): BaseUrl | { readonly problem: string } {
  if (typeof text !== 'string') return { problem: text === undefined ? 'is missing' : 'is not a string' };
  if (text === '') return { problem: 'is empty' };
  // `new URL` would silently drop or convert these.
  if (/[\s\\\p{Cc}\p{Cf}]/u.test(text)) return { problem: 'contains a space, a backslash or a control character' };
  if (!/^https?:\/\//i.test(text)) return { problem: 'must start with https://, or http:// for loopback' };
  if (!/^https?:\/\/[^/]/i.test(text)) return { problem: 'has no host' };
  if (!URL.canParse(text)) return { problem: 'is not a valid URL' };
  const url = new URL(text);
  if (url.username !== '' || url.password !== '' || /^https?:\/\/[^/?#]*@/i.test(text)) {
    return { problem: 'must not contain user info (NAME:PASSWORD@)' };
  }
  if (text.includes('?') || text.includes('#')) return { problem: 'must not contain a query or a fragment' };
  if (url.protocol === 'http:' && !isLoopback(url.hostname)) {
    return { problem: 'must use https (http is allowed only for loopback)' };
  }
  const path = url.pathname.replace(/\/$/, '');
  if (/%2f|%5c|%2e|\/\//i.test(path))
    return { problem: 'contains an escaped dot, slash or backslash, or a double slash, in its path' };
  if (!path.endsWith('/v1')) return { problem: 'must end in /v1' };
  const { origin } = url;
  return { url: `${origin}${path}`, origin };
}

/**
 * @param source the option or variable that the URL comes from
 * @throws PetstoreError `usage`
 */
export function checkBaseUrl(text: unknown, source: string): BaseUrl {
  const parsed = parseBaseUrl(text);
  if ('url' in parsed) return parsed;
  const hint = loopbackUrl(String(text)) ?? 'the form https://HOST/v1';
  throw new PetstoreError('usage', `${source} ${parsed.problem}`, { hint: `use ${hint}` });
}

// The valid loopback URL that a text without a scheme or version, or with a longer path, stands for, if there is one.
function loopbackUrl(text: string): string | undefined {
  const url = `http://${text.replace(/^http:\/\//i, '')}`;
  if (text.startsWith('https:') || !URL.canParse(url)) return undefined;
  const { hostname, host, pathname } = new URL(url);
  const [path] = pathname === '/' ? ['/v1'] : (/^(?:\/[\w.-]+)*?\/v1(?![^/])/.exec(pathname) ?? []);
  return isLoopback(hostname) && path ? `http://${host}${path}` : undefined;
}

/** @param hostname from `URL.hostname`, which normalizes forms such as 127.1 and 0x7f.1 */
export function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname);
}

/** In characters. */
export const MAX_KEY_LENGTH = 4096;

/**
 * @param source the origin of the key, for messages; empty for the prompt
 * @throws PetstoreError `auth` that never contains the key
 */
export function checkKey(key: unknown, source = '', hint?: string): string {
  const isText = typeof key === 'string';
  const problem = isText ? keyProblem(key) : key === undefined ? 'is missing' : 'is not a string';
  if (isText && problem === undefined) return key;
  throw new PetstoreError('auth', `the API key ${source && `from ${source} `}${problem}`, { hint });
}

function keyProblem(key: string): string | undefined {
  if (key === '') return 'is empty';
  if (key.length > MAX_KEY_LENGTH) return `is longer than ${formatNumber(MAX_KEY_LENGTH)} characters`;
  if (/[ \t\r\n]/.test(key)) return 'contains a space, tab or line break';
  return /[^\x21-\x7e]/.test(key) ? 'contains a control or non-ASCII character' : undefined;
}
