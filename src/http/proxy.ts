// Which proxy, if any, a request goes through: HTTPS_PROXY, HTTP_PROXY and NO_PROXY as curl reads them; loopback is always direct.

import type { Environment } from '../environment.ts';
import { PetstoreError } from '../errors.ts';
import { isLoopback } from '../profiles/base-url.ts';

/**
 * @param target the service's address
 * @param env the environment; the lower-case names go before the upper-case ones
 * @returns the proxy's URL, or undefined for a direct connection
 * @throws PetstoreError `usage` where the variable holds no http or https URL; its value is not repeated, it may hold a password
 */
export function proxyFor(target: URL, env: Environment): URL | undefined {
  if (isLoopback(target.hostname)) return undefined;
  const host = target.hostname.replace(/^\[|\]$/g, '');
  const name = target.protocol === 'https:' ? 'https_proxy' : 'http_proxy';
  const value = (env[name] ?? env[name.toUpperCase()])?.trim();
  if (!value || bypassed(host, target.port, env['no_proxy'] ?? env['NO_PROXY'] ?? '')) return undefined;
  const url = parse(withScheme(value));
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new PetstoreError('usage', `${name.toUpperCase()} does not hold an http or https URL`, {
      hint: `set it like http://proxy.example:3128, or unset it`,
    });
  }
  return url;
}

function withScheme(value: string): string {
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(value) ? value : `http://${value}`;
}

function parse(value: string): URL | undefined {
  try {
    return new URL(value);
  } catch {
    return undefined;
  }
}

function bypassed(host: string, port: string, list: string): boolean {
  return list.split(/[\s,]+/).some((entry) => {
    const [name = '', only] = entry.toLowerCase().split(/:(?=\d+$)/);
    if (name === '' || (only !== undefined && only !== port)) return false;
    if (name === '*') return true;
    const bare = name.replace(/^\*?\./, '');
    return host === bare || host.endsWith(`.${bare}`);
  });
}
