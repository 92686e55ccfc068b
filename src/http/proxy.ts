// Which proxy a request uses: HTTPS_PROXY, HTTP_PROXY and NO_PROXY as curl reads them; loopback never uses one.
import { BlockList, isIP } from 'node:net';
import { PetstoreError } from '../errors.ts';
import type { Environment } from '../io.ts';
import { isLoopback } from '../profiles/credential-rules.ts';

/**
 * Lower-case variables override upper-case ones. Undefined: a direct connection.
 * @throws PetstoreError `usage` for a value that is not an http or https URL; the value may contain a password and is not shown
 */
export function proxyFor(target: URL, env: Environment): URL | undefined {
  const host = target.hostname.replace(/^\[|\]$|\.$/g, '');
  if (isLoopback(target.hostname)) return undefined;
  const name = target.protocol === 'https:' ? 'https_proxy' : 'http_proxy';
  const value = (env[name] ?? env[name.toUpperCase()])?.trim();
  const port = target.port || (target.protocol === 'https:' ? '443' : '80');
  const exceptions = (env['no_proxy'] ?? env['NO_PROXY'] ?? '').toLowerCase().split(/[\s,]+/);
  if (!value || exceptions.some((entry) => isException(entry, host, port))) return undefined;
  return parseProxy(name.toUpperCase(), value);
}

function parseProxy(name: string, value: string): URL {
  try {
    const url = new URL(/^[a-z][a-z0-9+.-]*:\/\//i.test(value) ? value : `http://${value}`);
    if (/^https?:$/.test(url.protocol)) {
      proxyCredentials(url);
      return url;
    }
  } catch (error) {
    if (error instanceof URIError) {
      const hint = 'percent-encode special characters in the user name and password, for example % as %25';
      throw new PetstoreError('usage', `${name} contains an invalid percent-encoding`, { hint });
    }
  }
  const hint = 'use a URL such as http://proxy.example:3128, or unset the variable';
  throw new PetstoreError('usage', `${name} is not an http or https URL`, { hint });
}

/**
 * `user:password`; undefined if the URL has none.
 * @throws URIError for an invalid percent-encoding
 */
export function proxyCredentials({ username, password }: URL): string | undefined {
  if (username === '' && password === '') return undefined;
  return `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
}

// An entry of NO_PROXY: `*`, a domain, an address or CIDR range, each but the last with an optional port.
function isException(entry: string, host: string, port: string): boolean {
  const [, bracketed, plain, entryPort] = /^(?:\[([^\]]*)\]|([^:]*))(?::(\d+))?$/.exec(entry) ?? [];
  const name = bracketed ?? plain ?? entry;
  if (name === '' || (entryPort !== undefined && Number(entryPort) !== Number(port))) return false;
  if (name === '*') return true;
  if (isIP(host) > 0) return matchesAddress(name, host);
  const domain = name.replace(/^\*?\.+|\.$/g, '');
  return host === domain || host.endsWith(`.${domain}`);
}

function matchesAddress(name: string, host: string): boolean {
  const [address = '', prefix] = name.split('/');
  const [bits, family] = isIP(host) === 4 ? ([32, 'ipv4'] as const) : ([128, 'ipv6'] as const);
  if (isIP(address) !== isIP(host) || !/^\d*$/.test(prefix ?? '') || Number(prefix ?? bits) > bits) return false;
  const range = new BlockList();
  range.addSubnet(address, Number(prefix ?? bits), family);
  return range.check(host, family);
}
