// The way through a proxy (CONNECT), loaded only where the environment names one.
import type { Dispatcher } from 'undici';
import connect from 'undici/lib/api/api-connect.js';
import UndiciDispatcher from 'undici/lib/dispatcher/dispatcher.js';
import ProxyAgent from 'undici/lib/dispatcher/proxy-agent.js';

// Undici's full entry does this for all of its methods; a proxy agent calls this one.
UndiciDispatcher.prototype.connect = connect;

/**
 * @param proxy the proxy's URL, user and password included where it has them
 * @param limits undici's limits for the connection behind it
 * @returns a dispatcher that tunnels every request
 */
export function openProxy(
  proxy: URL,
  limits: { headersTimeout: number; bodyTimeout: number; maxResponseSize: number; pipelining: number },
): Dispatcher {
  return new ProxyAgent({
    uri: proxy.href,
    ...limits,
    requestTls: { rejectUnauthorized: true },
    proxyTls: { rejectUnauthorized: true },
  });
}
