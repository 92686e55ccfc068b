// Responses to what is not valid HTTP, or not a request for this server: Error objects, written to the socket.
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { SandboxContext } from './context.ts';
import { commonHeaders, HttpError } from './response.ts';

const ERRORS: Readonly<Record<string, readonly [status: number, code: string, message: string]>> = {
  HPE_HEADER_OVERFLOW: [431, 'headers_too_large', 'the request headers are too large'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'request_timeout', 'the request was not complete in time'],
  CONNECT: [405, 'method_not_allowed', 'this server is not a proxy'],
};
const MALFORMED = [400, 'malformed_request', 'this is not a valid HTTP request'] as const;

/** @param problem the HTTP parser's error code, or the method that is not supported */
export function respondToClientError(context: SandboxContext, problem: string | undefined, socket: Socket): void {
  // A second response would corrupt one that has begun.
  const responding = (socket as { _httpMessage?: { headersSent?: boolean } })._httpMessage?.headersSent === true;
  if (responding || !socket.writable || problem === 'ECONNRESET') return void socket.destroy();
  const { status, body } = new HttpError(...(ERRORS[problem ?? ''] ?? MALFORMED)).response;
  const now = context.clock.now();
  const quota = context.limiter.status(undefined, now);
  const headers = { ...commonHeaders(quota, now), 'Content-Length': String(body.length), Connection: 'close' };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  context.onRequest?.({ method: '-', path: '-', status, remaining: quota.remaining, fault: undefined });
  socket.on('error', () => socket.destroy());
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`, () => socket.destroySoon());
}
