// Selects the proxy of a request: that of https_proxy or HTTPS_PROXY, except for loopback and the hosts in NO_PROXY.
import { isIP } from 'node:net';
import { PetstoreError } from '../errors.ts';
import { isLoopback } from '../settings/credential-rules.ts';

type Environment = Readonly<Record<string, string | undefined>>;

export interface ProxySetting {
  readonly url: URL;
  /** The variable that sets it. */
  readonly variable: string;
}

/**
 * HTTP_PROXY is not read, since http is allowed for loopback only.
 * @returns undefined for a direct connection
 * @throws PetstoreError `usage` if the value is not an http or https URL without a path; the message omits the value, which may
 *   contain a password
 */
export function proxyFor(target: URL, env: Environment): ProxySetting | undefined {
  // A lowercase variable overrides the uppercase one.
  const variable = env['https_proxy'] === undefined ? 'HTTPS_PROXY' : 'https_proxy';
  const value = env[variable]?.trim();
  if (!value || target.protocol !== 'https:' || isLoopback(target.hostname) || isException(target, env))
    return undefined;
  const text = /^[a-z][a-z0-9+.-]*:\/\//i.test(value) ? value : `http://${value}`;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol)) throw invalidProxyError(variable, 'is not an http or https URL');
  if (url.pathname !== '/' || url.search !== '' || url.hash !== '')
    throw invalidProxyError(variable, 'must not contain a path, query or fragment');
  return { url, variable };
}

function invalidProxyError(variable: string, problem: string): PetstoreError {
  return new PetstoreError('usage', `${variable} ${problem}`, { hint: 'use a URL such as http://proxy.example:3128' });
}

// An entry is `*` or a host, which matches its subdomains too, with an optional port.
function isException({ hostname, port }: URL, env: Environment): boolean {
  const host = bareName(hostname);
  const entries = (env['no_proxy'] ?? env['NO_PROXY'] ?? '').toLowerCase().split(/[\s,]+/);
  return entries.some((entry) => {
    if (entry === '*') return true;
    // An IPv6 address without brackets has no port.
    const suffix = isIP(entry) ? '' : (/:\d+$/.exec(entry)?.[0] ?? '');
    if (suffix !== '' && suffix !== `:${port || 443}`) return false;
    const name = bareName(entry.slice(0, entry.length - suffix.length));
    return name !== '' && (host === name || (!isIP(host) && host.endsWith(`.${name}`)));
  });
}

// Removes the marks of subdomains (`*.`, `.`), IPv6 addresses (`[]`) and absolute names (`.` at the end).
function bareName(text: string): string {
  return text.replace(/^\*?\.?\[?|\]?\.?$/g, '');
}
