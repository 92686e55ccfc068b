// Translates the errors of undici, Node's sockets and TLS; their own messages may quote data and are not shown.
import type { Head, TransportErrorReason } from './types.ts';
import { TransportError } from './types.ts';

const REASONS: Readonly<Record<string, TransportErrorReason>> = {
  ENOTFOUND: 'dns',
  EAI_AGAIN: 'dns',
  EAI_FAIL: 'dns',
  ECONNREFUSED: 'refused',
  EHOSTUNREACH: 'unreachable',
  ENETUNREACH: 'unreachable',
  ENETDOWN: 'unreachable',
  EADDRNOTAVAIL: 'unreachable',
  ETIMEDOUT: 'connect-timeout',
  UND_ERR_CONNECT_TIMEOUT: 'connect-timeout',
  UND_ERR_SOCKET: 'reset',
  ECONNRESET: 'reset',
  EPIPE: 'reset',
  ECONNABORTED: 'reset',
  UND_ERR_HEADERS_OVERFLOW: 'too-large',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'protocol',
  UND_ERR_ABORTED: 'aborted',
};
const TLS_CODE = /^(?:CERT_|ERR_TLS_|ERR_SSL_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|HOSTNAME_MISMATCH$|EPROTO$)/;

const DETAILS: Partial<Record<TransportErrorReason, string>> = {
  dns: 'the host name could not be resolved',
  refused: 'connection refused',
  unreachable: 'no route to the host',
  'connect-timeout': 'the connection timed out',
  reset: 'the connection was closed before the response was complete',
  protocol: 'the response is not valid HTTP',
  'too-large': 'the response is too large',
  aborted: 'interrupted',
};

/** @param requestSent whether any byte of the request may have been sent */
export function toTransportError(error: Error, requestSent: boolean, head?: Head): TransportError {
  // From the tunnel of a proxy.
  if (error instanceof TransportError) return error;
  const code = codeOf(error);
  const reason = reasonOf(error, code, requestSent);
  return new TransportError(reason, requestSent, detailOf(error, code, reason), head);
}

function reasonOf(error: Error, code: string | undefined, requestSent: boolean): TransportErrorReason {
  // Parser errors of undici are recognised by their class name: not all of them have a code.
  if (error.name === 'HTTPParserError' || code?.startsWith('HPE_')) return 'protocol';
  // An unexpected upgrade or interim response.
  if (code === 'UND_ERR_SOCKET' && /^bad (?:response|upgrade)$/.test(error.message)) return 'protocol';
  if (code !== undefined && TLS_CODE.test(code)) return 'tls';
  return REASONS[code ?? ''] ?? (requestSent ? 'protocol' : 'connect');
}

function detailOf(error: Error, code: string | undefined, reason: TransportErrorReason): string {
  if (reason === 'tls') return certificateProblem(code) ?? 'the TLS handshake failed';
  // The HTTP parser could not allocate its memory (`ulimit -v`).
  if (error instanceof RangeError) return 'not enough memory';
  return DETAILS[reason] ?? (code === undefined ? 'the connection failed' : `the connection failed (${code})`);
}

/** Explains an OpenSSL verification code; undefined if it is not about the certificate. */
export function certificateProblem(code: string | undefined): string | undefined {
  if (code === 'CERT_HAS_EXPIRED') return 'the certificate has expired';
  if (code === 'CERT_NOT_YET_VALID') return 'the certificate is not valid yet';
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID' || code === 'HOSTNAME_MISMATCH')
    return 'the certificate is for another host name';
  if (/^(?:CERT_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_)/.test(code ?? '')) return 'the certificate is not trusted';
  return undefined;
}

// Several addresses that fail are one AggregateError.
function codeOf(error: Error): string | undefined {
  const first = error instanceof AggregateError ? ((error.errors[0] as Error | undefined) ?? error) : error;
  const { code = (first.cause as NodeJS.ErrnoException | undefined)?.code } = first as NodeJS.ErrnoException;
  return typeof code === 'string' && /^[A-Z0-9_]{2,60}$/.test(code) ? code : undefined;
}
