// Tunnels through an HTTP proxy (CONNECT); loaded only where a proxy is used.
import { Buffer } from 'node:buffer';
import { request as requestHttp, STATUS_CODES } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { Socket } from 'node:net';
import { proxyCredentials } from './proxy.ts';
import { toTransportError } from './transport-errors.ts';
import { TransportError } from './types.ts';

/**
 * @param target `host:port`
 * @throws TransportError `proxy`, `proxy-auth` or `proxy-refused`
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
      reject(refused(proxy.host, statusCode, credentials !== undefined));
    });
    request.once('timeout', () => request.destroy(Object.assign(new Error('timeout'), { code: 'ETIMEDOUT' })));
    request.once('error', (error) => {
      const { detail } = toTransportError(error, false);
      reject(new TransportError('proxy', false, `the proxy ${proxy.host} failed: ${detail}`));
    });
    request.end();
  });
}

function refused(host: string, status: number, hasCredentials: boolean): TransportError {
  if (status === 407) {
    const problem = hasCredentials ? 'rejected its user name or password' : 'requires a user name and password';
    return new TransportError('proxy-auth', false, `the proxy ${host} ${problem} (407)`);
  }
  const shown = STATUS_CODES[status] ? `${status} ${STATUS_CODES[status]}` : status;
  if (status < 500) {
    return new TransportError('proxy-refused', false, `the proxy ${host} refused the connection (${shown})`);
  }
  return new TransportError('proxy', false, `the proxy ${host} did not open the connection (${shown})`);
}
