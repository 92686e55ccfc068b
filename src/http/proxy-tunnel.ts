// Opens a TLS connection to the service through a proxy (CONNECT). Loaded only if a proxy is used.
import { Buffer } from 'node:buffer';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request as requestHttp, STATUS_CODES } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { Socket } from 'node:net';
import { isIP } from 'node:net';
import { unescape as decode } from 'node:querystring';
import type { TLSSocket } from 'node:tls';
import { connect } from 'node:tls';
import type { buildConnector } from 'undici';
import { toTransportError } from './transport-errors.ts';
import type { TransportErrorReason } from './types.ts';
import { TransportError } from './types.ts';

/** @throws TransportError if the proxy failed; otherwise errors of the TLS connection to the service. `ABORT_ERR` after `timeoutMs` */
export async function openTunnel(
  proxy: URL,
  { host, hostname, port }: buildConnector.Options,
  timeoutMs: number,
): Promise<TLSSocket> {
  const signal = AbortSignal.timeout(timeoutMs);
  const path = port ? `${host}` : `${host}:443`;
  // Decodes leniently: a percent sign in a password need not be escaped.
  const login = `${decode(proxy.username)}:${decode(proxy.password)}`;
  const authorization = `Basic ${Buffer.from(login).toString('base64')}`;
  const headers = { host: path, ...(login !== ':' && { 'proxy-authorization': authorization }) };
  const send = proxy.protocol === 'https:' ? requestHttps : requestHttp;
  const options = { method: 'CONNECT', path, headers, agent: false, rejectUnauthorized: true, signal };
  const connectEvent = once(send(proxy.origin, options).end(), 'connect');
  const [{ statusCode = 0 }, socket] = (await connectEvent.catch((error: Error) => {
    throw notConnectedError(proxy, error);
  })) as [IncomingMessage, Socket];
  if (statusCode !== 200) {
    socket.destroy();
    throw rejectedError(proxy, hostname, statusCode);
  }
  const names = { host: hostname, ...(isIP(hostname) === 0 && { servername: hostname }) };
  const secure = connect({ socket, ...names, ALPNProtocols: ['http/1.1'], rejectUnauthorized: true });
  try {
    await once(secure, 'secureConnect', { signal });
    return secure;
  } catch (error) {
    secure.destroy();
    throw error;
  }
}

const PROXY_PROBLEMS: Partial<Record<TransportErrorReason, string>> = {
  reset: 'it closed the connection',
  protocol: 'it sent an invalid HTTP response',
};

function notConnectedError({ host }: URL, error: Error): TransportError {
  const { reason, message, code } = toTransportError(error, false);
  const problem = PROXY_PROBLEMS[reason] ?? message;
  return new TransportError('proxy', false, `cannot connect to proxy ${host}: ${problem}`, undefined, code);
}

function rejectedError({ host, username }: URL, target: string, status: number): TransportError {
  const shown = STATUS_CODES[status] ? `${status} ${STATUS_CODES[status]}` : status;
  if (status === 407) {
    const problem = username === '' ? 'requires a user name and password' : 'rejected the user name or password';
    return new TransportError('proxy-auth', false, `proxy ${host} ${problem} (407)`);
  }
  if (status === 403)
    return new TransportError('proxy-denied', false, `proxy ${host} denies access to ${target} (403)`);
  if (status < 500)
    return new TransportError('proxy-refused', false, `proxy ${host} rejected the connection (${shown})`);
  return new TransportError('proxy', false, `proxy ${host} could not connect (${shown})`);
}
