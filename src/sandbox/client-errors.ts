// What is no HTTP, or no request this server takes, is answered too: in the Error shape, straight to the socket.
import type { Socket } from 'node:net';
import { HttpError, limitHeaders } from './response.ts';
import { rawHead } from './send-response.ts';
import type { SandboxContext } from './server.ts';

const FAILURES: Readonly<Record<string, readonly [status: number, code: string, message: string]>> = {
  HPE_HEADER_OVERFLOW: [431, 'headers_too_large', 'the head of the request is too large'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'request_timeout', 'the request took too long to arrive'],
  CONNECT: [405, 'method_not_allowed', 'this server is no proxy'],
};
const MALFORMED = [400, 'malformed_request', 'this is not a valid HTTP request'] as const;

/**
 * Answers on a connection that gave no request, and closes it.
 * @param world the sandbox
 * @param problem the code of what the HTTP parser found, or the method that is not taken
 * @param socket the connection; what cannot be written to is destroyed
 */
export function respondToClientError(world: SandboxContext, problem: string | undefined, socket: Socket): void {
  // Where an answer is under way already, a second one would corrupt it.
  const busy = (socket as { _httpMessage?: { headersSent?: boolean } })._httpMessage?.headersSent === true;
  if (busy || !socket.writable || problem === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const [status, code, message] = FAILURES[problem ?? ''] ?? MALFORMED;
  const { body, headers } = new HttpError(status, code, message).answer;
  const now = world.clock.now();
  const standing = world.limiter.standing(undefined, now);
  const head = rawHead(status, {
    'Content-Type': 'application/json',
    'Content-Length': String(body.length),
    Date: new Date(now).toUTCString(),
    Connection: 'close',
    ...limitHeaders(standing),
    ...headers,
  });
  world.onRequest?.({
    method: '-',
    path: '-',
    status,
    key: undefined,
    remaining: standing.remaining,
    fault: undefined,
  });
  socket.on('error', () => socket.destroy());
  socket.end(Buffer.concat([Buffer.from(head), body]), () => socket.destroySoon());
}
