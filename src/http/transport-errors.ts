// Translates the errors of undici, Node's sockets and TLS; their own messages may quote data and are not shown.
import { STATUS_CODES } from 'node:http';
import type { Head, TransportErrorReason } from './types.ts';
import { TransportError } from './types.ts';

type Problem = readonly [reason: TransportErrorReason, detail: string];

const NOT_HTTP: Problem = ['protocol', 'the service sent an invalid HTTP response'];

const PROBLEMS: readonly (readonly [codes: readonly string[], Problem])[] = [
  [
    ['ENOTFOUND', 'EAI_AGAIN', 'EAI_FAIL'],
    ['connect', 'the host name could not be resolved'],
  ],
  [['ECONNREFUSED'], ['connect', 'connection refused']],
  [
    ['EHOSTUNREACH', 'ENETUNREACH', 'ENETDOWN', 'EADDRNOTAVAIL'],
    ['connect', 'no route to the host'],
  ],
  [
    ['ETIMEDOUT', 'UND_ERR_CONNECT_TIMEOUT'],
    ['connect', 'the connection timed out'],
  ],
  [
    ['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE', 'ECONNABORTED'],
    ['reset', 'the connection closed before the response was complete'],
  ],
  [['UND_ERR_HEADERS_OVERFLOW'], ['too-large', 'the response is too large']],
  [['UND_ERR_RES_CONTENT_LENGTH_MISMATCH'], NOT_HTTP],
  [['UND_ERR_ABORTED'], ['aborted', 'interrupted']],
];
const TLS_CODE = /^(?:CERT_|ERR_TLS_|ERR_SSL_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|HOSTNAME_MISMATCH$|EPROTO$)/;

/**
 * @param requestSent whether any byte of the request may have been sent
 * @param peer the host, for messages, and the proxy, if any, which is named if no connection was made
 */
export function toTransportError(error: Error, requestSent: boolean, head?: Head, peer?: Peer): TransportError {
  const [reason, problem] = (!requestSent && peer && problemOfPeer(error, peer)) || problemOf(error, requestSent);
  const detail = reason === 'reset' && !head ? 'the connection closed before a response arrived' : problem;
  return new TransportError(reason, requestSent, detail, head, codeOf(error));
}

interface Peer {
  readonly host: string;
  readonly proxy: URL | undefined;
}

function problemOfPeer(error: Error, { host, proxy }: Peer): Problem | undefined {
  const ofProxy = proxy && problemOfProxy(error, proxy);
  if (ofProxy) return ofProxy;
  const [reason, detail] = problemOf(error, false);
  return /^(?:connect|tls)$/.test(reason) ? [reason, `cannot connect to ${host}: ${detail}`] : undefined;
}

/** A proxy rejected a CONNECT request. */
export class ProxyResponseError extends Error {
  override readonly name = 'ProxyResponseError';
  readonly status: number;

  constructor(status: number) {
    super(`the proxy responded with status ${status}`);
    this.status = status;
  }
}

function problemOfProxy(error: Error, { host, username }: URL): Problem | undefined {
  const status = error instanceof ProxyResponseError ? error.status : 0;
  if (status === 407) {
    const problem = username === '' ? 'requires a user name and password' : 'rejected its user name or password';
    return ['proxy-auth', `proxy ${host} ${problem} (407)`];
  }
  if (status) {
    const shown = STATUS_CODES[status] ? `${status} ${STATUS_CODES[status]}` : status;
    if (status < 500) return ['proxy-refused', `proxy ${host} rejected the connection (${shown})`];
    return ['proxy', `proxy ${host} could not connect (${shown})`];
  }
  const [reason, detail] = problemOf(error, false);
  // Attribute a TLS error to the service, whose certificate is checked after the proxy has opened the tunnel.
  const problem = reason === 'reset' ? 'it closed the connection' : detail;
  return reason === 'tls' ? undefined : ['proxy', `cannot connect to proxy ${host}: ${problem}`];
}

function problemOf(error: Error, requestSent: boolean): Problem {
  const code = codeOf(error) ?? '';
  // undici's parser errors are recognized by their class name: not all of them have a code.
  if (error.name === 'HTTPParserError' || code.startsWith('HPE_')) return NOT_HTTP;
  // undici has no code for an unexpected upgrade or interim response.
  if (code === 'UND_ERR_SOCKET' && /^bad (?:response|upgrade)$/.test(error.message)) return NOT_HTTP;
  if (TLS_CODE.test(code)) return ['tls', certificateProblem(code) ?? 'the TLS handshake failed'];
  const [, known] = PROBLEMS.find(([codes]) => codes.includes(code)) ?? [];
  if (known || requestSent) return known ?? NOT_HTTP;
  return ['connect', code === '' ? 'the connection failed' : `the connection failed (${code})`];
}

function certificateProblem(code: string | undefined): string | undefined {
  if (code === 'CERT_HAS_EXPIRED') return 'the certificate has expired';
  if (code === 'CERT_NOT_YET_VALID') return 'the certificate is not valid yet';
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID' || code === 'HOSTNAME_MISMATCH')
    return 'the certificate is for another host name';
  if (/^(?:CERT_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_)/.test(code ?? '')) return 'the certificate is not trusted';
  return undefined;
}

// If all addresses of a host fail, Node throws one AggregateError.
function codeOf(error: Error): string | undefined {
  const first = error instanceof AggregateError ? ((error.errors[0] as Error | undefined) ?? error) : error;
  const { code = (first.cause as NodeJS.ErrnoException | undefined)?.code } = first as NodeJS.ErrnoException;
  return typeof code === 'string' && /^[A-Z0-9_]{2,60}$/.test(code) ? code : undefined;
}
