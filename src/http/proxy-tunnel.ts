// Opens a TLS connection to the service through a proxy (CONNECT). Loaded only if a proxy is used.
import { Buffer } from 'node:buffer';
import { request as requestHttp, STATUS_CODES } from 'node:http';
import { request as requestHttps } from 'node:https';
import { isIP } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { connect } from 'node:tls';
import { urlToHttpOptions } from 'node:url';
import type { buildConnector } from 'undici';
import { toTransportError } from './transport-errors.ts';
import { TransportError } from './types.ts';

/** @throws TransportError if the proxy failed; otherwise errors of TLS with the service. `ETIMEDOUT` after `timeoutMs` */
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
    request.on('error', (error) => fail(notConnected(proxy, error)));
    request.on('connect', ({ statusCode = 0 }, socket) => {
      if (statusCode !== 200) {
        socket.destroy();
        return fail(rejected(proxy, statusCode));
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

function notConnected({ host }: URL, error: Error): TransportError {
  const { reason, message, code } = toTransportError(error, false);
  const problem = reason === 'reset' ? 'it closed the connection' : message;
  return new TransportError('proxy', false, `cannot connect to proxy ${host}: ${problem}`, undefined, code);
}

function rejected({ host, username }: URL, status: number): TransportError {
  const shown = STATUS_CODES[status] ? `${status} ${STATUS_CODES[status]}` : status;
  if (status === 407) {
    const problem = username === '' ? 'requires a user name and password' : 'rejected its user name or password';
    return new TransportError('proxy-auth', false, `proxy ${host} ${problem} (407)`);
  }
  if (status < 500)
    return new TransportError('proxy-refused', false, `proxy ${host} rejected the connection (${shown})`);
  return new TransportError('proxy', false, `proxy ${host} could not connect (${shown})`);
}
