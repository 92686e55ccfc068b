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
import type { ProxySetting } from './proxy.ts';
import { toTransportError } from './transport-errors.ts';
import type { TransportErrorReason } from './types.ts';
import { TransportError } from './types.ts';

/** @throws TransportError if the proxy failed; otherwise the error of the TLS connection to the service, ABORT_ERR if it timed out */
export async function openTunnel(
  proxy: ProxySetting,
  { host, hostname, port }: buildConnector.Options,
  timeoutMs: number,
): Promise<TLSSocket> {
  const signal = AbortSignal.timeout(timeoutMs);
  const path = port ? `${host}` : `${host}:443`;
  // Decodes leniently: a percent sign in a password need not be escaped.
  const { username, password, protocol, origin } = proxy.url;
  const login = `${decode(username)}:${decode(password)}`;
  const authorization = `Basic ${Buffer.from(login).toString('base64')}`;
  const headers = { host: path, ...(login !== ':' && { 'proxy-authorization': authorization }) };
  const send = protocol === 'https:' ? requestHttps : requestHttp;
  const options = { method: 'CONNECT', path, headers, agent: false, rejectUnauthorized: true, signal };
  const connectEvent = once(send(origin, options).end(), 'connect');
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

function notConnectedError({ url: { host }, variable }: ProxySetting, error: Error): TransportError {
  const { reason, message, code } = toTransportError(error, false);
  const problem = PROXY_PROBLEMS[reason] ?? message;
  const hint = `correct ${variable}`;
  return new TransportError('proxy', false, `cannot connect to proxy ${host}: ${problem}`, { code, hint });
}

function rejectedError({ url, variable }: ProxySetting, target: string, status: number): TransportError {
  const shown = STATUS_CODES[status] ? `${status} ${STATUS_CODES[status]}` : status;
  const failure = (reason: TransportErrorReason, problem: string, hint = `correct ${variable}`): TransportError =>
    new TransportError(reason, false, `proxy ${url.host} ${problem}`, { hint });
  if (status === 407) {
    const problem = url.username === '' ? 'requires a user name and password' : 'rejected the user name or password';
    return failure('proxy-auth', `${problem} (407)`, `set ${variable} to http://USER:PASSWORD@HOST:PORT`);
  }
  if (status === 403) {
    const hint = 'ask the operator of the proxy to allow this host';
    return failure('proxy-refused', `denies access to ${target} (403)`, hint);
  }
  if (status < 500) return failure('proxy-refused', `rejected the connection (${shown})`);
  // Gateway errors: the proxy works, but cannot reach the service.
  const hint = status >= 502 && status <= 504 ? 'try again later' : undefined;
  return failure('proxy', `could not connect to ${target} (${shown})`, hint);
}
