// Translates the errors of undici, Node's sockets and TLS; their own messages may quote data and are not shown.
import { certificateProblem, systemErrorText } from '../errors.ts';
import type { ResponseHead, TransportErrorReason } from './types.ts';
import { TransportError } from './types.ts';

type TransportProblem = readonly [reason: TransportErrorReason, message: string];

const NOT_HTTP: TransportProblem = ['protocol', 'the service sent an invalid HTTP response'];

const UNRESOLVED: TransportProblem = ['connect', 'host not found'];
const TIMED_OUT: TransportProblem = ['connect', 'the connection timed out'];
const CLOSED: TransportProblem = ['reset', 'the connection closed before the response was complete'];

const PROBLEMS: Readonly<Record<string, TransportProblem>> = {
  ENOTFOUND: UNRESOLVED,
  EAI_AGAIN: ['connect', 'name resolution is unavailable'],
  EAI_FAIL: UNRESOLVED,
  ABORT_ERR: TIMED_OUT,
  ETIMEDOUT: TIMED_OUT,
  UND_ERR_CONNECT_TIMEOUT: TIMED_OUT,
  UND_ERR_SOCKET: CLOSED,
  ECONNRESET: CLOSED,
  EPIPE: CLOSED,
  ECONNABORTED: CLOSED,
  UND_ERR_HEADERS_OVERFLOW: ['too-large', 'the headers of the response are too large'],
  UND_ERR_ABORTED: ['aborted', 'interrupted'],
};
const TLS_CODE = /^(?:ERR_TLS_|ERR_SSL_|EPROTO$)/;

/**
 * @param requestSent whether any byte of the request may have been sent
 * @param host named in the message if no connection was made
 */
export function toTransportError(
  error: Error,
  requestSent: boolean,
  head?: ResponseHead,
  host?: string,
): TransportError {
  // The proxy failed.
  if (error instanceof TransportError) return error;
  const [reason, problem] = isCutOff(error, head) ? CLOSED : problemOf(error, requestSent);
  const isConnecting = !requestSent && host !== undefined && /^(?:connect|tls)$/.test(reason);
  const early = reason === 'reset' && !head ? 'the connection closed before a response arrived' : problem;
  const message = isConnecting ? `cannot connect to ${host}: ${problem}` : early;
  return new TransportError(reason, requestSent, message, { head, code: codeOf(error) });
}

// Whether a body ended too soon on a connection that was not kept open, which undici reports as an invalid response.
function isCutOff(error: Error, head: ResponseHead | undefined): boolean {
  if (!head) return false;
  return codeOf(error) === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH' || error.message.includes('(Invalid EOF state)');
}

function problemOf(error: Error, requestSent: boolean): TransportProblem {
  const code = codeOf(error) ?? '';
  // undici's parser errors are recognized by their class name: not all of them have a code.
  if (error.name === 'HTTPParserError' || code.startsWith('HPE_')) return NOT_HTTP;
  // undici has no code for an unexpected upgrade or interim response.
  if (code === 'UND_ERR_SOCKET' && /^bad (?:response|upgrade)$/.test(error.message)) return NOT_HTTP;
  const certificate = certificateProblem(code);
  if (certificate !== undefined) return ['tls', certificate];
  if (TLS_CODE.test(code)) return ['tls', 'the TLS handshake failed'];
  const known = PROBLEMS[code];
  if (known) return known;
  const system = systemErrorText(code);
  if (system !== undefined) return requestSent ? CLOSED : ['connect', system];
  return requestSent
    ? NOT_HTTP
    : ['connect', code === '' ? 'the connection failed' : `the connection failed (${code})`];
}

function codeOf({ code }: NodeJS.ErrnoException): string | undefined {
  return typeof code === 'string' ? code : undefined;
}
