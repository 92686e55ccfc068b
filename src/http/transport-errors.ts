// What undici, Node's sockets and TLS throw, in our own few words; their messages may quote data and are not passed on.
import type { Head, TransportErrorReason } from './types.ts';
import { TransportError } from './types.ts';

const BY_CODE: Readonly<Record<string, TransportErrorReason>> = {
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
  UND_ERR_RES_EXCEEDED_MAX_SIZE: 'too-large',
  UND_ERR_HEADERS_OVERFLOW: 'too-large',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'protocol',
  UND_ERR_ABORTED: 'aborted',
  UND_ERR_PRX_TLS: 'tls',
};
const TLS_CODE =
  /^(?:CERT_|ERR_TLS_|ERR_SSL_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|HOSTNAME_MISMATCH|EPROTO$|UNABLE_TO_VERIFY)/;
const WORDS: Readonly<Record<TransportErrorReason, string>> = {
  dns: 'the host name could not be resolved',
  refused: 'the connection was refused',
  unreachable: 'there is no route to the host',
  connect: 'the connection could not be made',
  tls: 'the certificate or the TLS handshake was not accepted',
  'connect-timeout': 'the connection was not made in time',
  proxy: 'the proxy did not make the connection',
  timeout: 'no complete answer came in time',
  reset: 'the connection was closed before the answer was complete',
  protocol: 'the answer is not valid HTTP',
  'too-large': 'the answer is larger than the limit',
  encoding: 'the body is compressed although that was not asked for',
  aborted: 'interrupted',
};

/**
 * @param error what the HTTP client threw
 * @param requestSent whether any byte of the request may have left
 * @param head status and headers where they had come
 * @returns the failure in our words, with the error's code where it is a plain one
 */
export function toTransportError(error: Error, requestSent: boolean, head?: Head): TransportError {
  const code = codeOf(error);
  const reason = reasonOf(error, code, requestSent);
  return new TransportError(reason, requestSent, code ? `${WORDS[reason]} (${code})` : WORDS[reason], head);
}

function reasonOf(error: Error, code: string | undefined, requestSent: boolean): TransportErrorReason {
  // undici's parser errors carry the parser's own code or none: the class name is the sign.
  if (error.name === 'HTTPParserError' || code?.startsWith('HPE_')) return 'protocol';
  // What undici says of an upgrade or an interim answer nobody asked for.
  if (code === 'UND_ERR_SOCKET' && /^bad (?:response|upgrade)$/.test(error.message)) return 'protocol';
  if (/proxy/i.test(error.message) && !requestSent) return 'proxy';
  if (code !== undefined && TLS_CODE.test(code)) return 'tls';
  return BY_CODE[code ?? ''] ?? (requestSent ? 'protocol' : 'connect');
}

// Several addresses tried at once fail as an AggregateError: its first member says why.
function codeOf(error: Error): string | undefined {
  const first = error instanceof AggregateError ? ((error.errors[0] as Error | undefined) ?? error) : error;
  const code =
    (first as NodeJS.ErrnoException).code ??
    ((first.cause as NodeJS.ErrnoException | undefined)?.code as string | undefined);
  return typeof code === 'string' && /^[A-Z0-9_]{2,60}$/.test(code) ? code : undefined;
}
