// Opens a TLS connection to the service through a proxy (CONNECT). Loaded only if a proxy is used.
import { Buffer } from 'node:buffer';
import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { isIP } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { connect } from 'node:tls';
import { urlToHttpOptions } from 'node:url';
import type { buildConnector } from 'undici';
import { ProxyResponseError } from './transport-errors.ts';

/** @throws ProxyResponseError, or errors of the sockets and of TLS, `ETIMEDOUT` after `timeoutMs` included */
export function openTunnel(
  proxy: URL,
  { host, hostname, port }: buildConnector.Options,
  timeoutMs: number,
): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const path = port ? `${host}` : `${host}:443`;
    const { auth, ...address } = urlToHttpOptions(proxy);
    const headers = {
      host: path,
      ...(auth && { 'proxy-authorization': `Basic ${Buffer.from(auth).toString('base64')}` }),
    };
    const send = proxy.protocol === 'https:' ? requestHttps : requestHttp;
    const request = send({ ...address, method: 'CONNECT', path, headers, agent: false, rejectUnauthorized: true });
    let opening: { destroy(error: Error): unknown } = request;
    const timedOut = Object.assign(new Error('the connection timed out'), { code: 'ETIMEDOUT' });
    const timer = setTimeout(() => opening.destroy(timedOut), timeoutMs);
    const fail = (error: Error): void => {
      clearTimeout(timer);
      reject(error);
    };
    request.on('error', fail).on('connect', ({ statusCode = 0 }, socket) => {
      if (statusCode !== 200) {
        socket.destroy();
        return fail(new ProxyResponseError(statusCode));
      }
      const names = { host: hostname, ...(isIP(hostname) === 0 && { servername: hostname }) };
      const secure = connect({ socket, ...names, ALPNProtocols: ['http/1.1'], rejectUnauthorized: true }, () => {
        clearTimeout(timer);
        resolve(secure);
      }).on('error', fail);
      opening = secure;
    });
    request.end();
  });
}
