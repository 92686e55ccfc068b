// Selects the proxy of a request: HTTPS_PROXY, except for loopback and the hosts in NO_PROXY.
import { isIP } from 'node:net';
import { PetstoreError } from '../errors.ts';
import type { Environment } from '../io.ts';
import { isLoopback } from '../profiles/credential-rules.ts';

/**
 * Lowercase variables override uppercase ones. HTTP_PROXY is not read, since http is allowed for loopback only.
 * @returns undefined for a direct connection
 * @throws PetstoreError `usage` if the value is not an http or https URL; the message omits it, since it may contain a password
 */
export function proxyFor(target: URL, env: Environment): URL | undefined {
  const value = (env['https_proxy'] ?? env['HTTPS_PROXY'])?.trim();
  if (!value || target.protocol !== 'https:' || isLoopback(target.hostname) || isException(target, env))
    return undefined;
  try {
    const url = new URL(/^[a-z][a-z0-9+.-]*:\/\//i.test(value) ? value : `http://${value}`);
    decodeURIComponent(url.username + url.password);
    if (/^https?:$/.test(url.protocol)) return checkPath(url);
  } catch (error) {
    if (error instanceof PetstoreError) throw error;
    if (error instanceof URIError) {
      const hint = 'percent-encode special characters in the user name and password, for example % as %25';
      throw new PetstoreError('usage', 'HTTPS_PROXY contains invalid percent-encoding', { hint });
    }
  }
  throw new PetstoreError('usage', 'HTTPS_PROXY is not an http or https URL', { hint: EXAMPLE });
}

const EXAMPLE = 'use a URL such as http://proxy.example:3128';

function checkPath(url: URL): URL {
  if (url.pathname === '/' && url.search === '' && url.hash === '') return url;
  throw new PetstoreError('usage', 'HTTPS_PROXY must not contain a path', { hint: EXAMPLE });
}

// An entry is `*` or a host, which matches its subdomains too, with an optional port.
function isException({ hostname, port }: URL, env: Environment): boolean {
  const host = hostname.replace(/^\[|\]$|\.$/g, '');
  const entries = (env['no_proxy'] ?? env['NO_PROXY'] ?? '').toLowerCase().split(/[\s,]+/);
  return entries.some((entry) => {
    const [, name = '', entryPort] =
      (isIP(entry) ? ['', entry] : /^\*?\.?\[?(.*?)\]?\.?(?::(\d+))?$/.exec(entry)) ?? [];
    if (entryPort !== undefined && entryPort !== (port || '443')) return false;
    return entry === '*' || (name !== '' && (host === name || (!isIP(host) && host.endsWith(`.${name}`))));
  });
}
