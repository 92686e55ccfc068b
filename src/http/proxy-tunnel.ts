// Tunnels through an HTTP proxy (CONNECT); loaded only where a proxy is used.
import { Buffer } from 'node:buffer';
import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { Socket } from 'node:net';
import { proxyCredentials } from './proxy.ts';
import { proxyFailed, proxyRefused } from './transport-errors.ts';

/**
 * @param target `host:port`
 * @throws ProxyError
 */
export function openTunnel(
  proxy: URL,
  target: string,
  limits: { readonly timeout: number; readonly signal: AbortSignal },
): Promise<Socket> {
  const credentials = proxyCredentials(proxy);
  const authorization =
    credentials === undefined ? {} : { 'proxy-authorization': `Basic ${Buffer.from(credentials).toString('base64')}` };
  return new Promise((resolve, reject) => {
    const request = (proxy.protocol === 'https:' ? requestHttps : requestHttp)({
      ...limits,
      host: proxy.hostname.replace(/^\[|\]$/g, ''),
      port: proxy.port,
      method: 'CONNECT',
      path: target,
      headers: { host: target, ...authorization },
      agent: false,
    });
    request.once('connect', ({ statusCode = 0 }, socket: Socket) => {
      if (statusCode >= 200 && statusCode < 300) return resolve(socket.setTimeout(0));
      socket.destroy();
      reject(proxyRefused(proxy.host, statusCode, credentials !== undefined));
    });
    request.once('timeout', () => request.destroy(Object.assign(new Error('timeout'), { code: 'ETIMEDOUT' })));
    request.once('error', (error) => reject(proxyFailed(proxy.host, error)));
    request.end();
  });
}
