// An HTTP server that records all requests, and whose responses come from a function of the test.
// For rate limits, use the sandbox.
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { startTcpServer } from './raw-server.ts';

export interface ReceivedRequest {
  readonly method: string;
  /** Path and query, for example `/v1/categories?page=2`; for CONNECT, host and port. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

interface Content {
  readonly status?: number;
  /** Sent as JSON unless it is text or bytes. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * `reset` closes the connection, `silence` sends nothing, and a function writes raw bytes: a response that an HTTP
 * library cannot send, or the response to CONNECT.
 */
export type FakeResponse = Content | ((socket: Socket) => unknown) | 'reset' | 'silence';

export type HttpFake = Awaited<ReturnType<typeof startHttpFake>>;

/**
 * Starts a server on a free port of 127.0.0.1.
 * @param respond a promise delays the response
 * @param tls key and certificate, for https
 */
export async function startHttpFake(
  respond: (request: ReceivedRequest) => FakeResponse | Promise<FakeResponse>,
  tls?: { readonly key: string; readonly cert: string },
) {
  const requests: ReceivedRequest[] = [];
  const receive = async (incoming: IncomingMessage, response?: ServerResponse): Promise<void> => {
    const { method = '', url: path = '', headers, socket } = incoming;
    const request = { method, path, headers, body: response ? await text(incoming) : '' };
    requests.push(request);
    const content = await respond(request);
    if (typeof content === 'function') content(socket);
    else if (content === 'reset') socket.destroy();
    else if (response && content !== 'silence') send(response, content);
  };
  const server = (tls ? createTlsServer(tls) : createServer())
    .on('request', receive)
    .on('connect', (one) => receive(one));
  const tcp = await startTcpServer((socket) => void server.emit('connection', socket));
  // The test certificate is valid for localhost, too.
  const origin = tls ? `https://localhost:${tcp.port}` : tcp.origin;
  return { ...tcp, origin, url: `${origin}/v1`, requests };
}

/** The rate-limit headers of a window of 60 requests that resets within 30 s. */
export function quotaHeaders(remaining = 57): Record<string, string> {
  const reset = String(Math.floor(Date.now() / 1000) + 30);
  return { 'x-ratelimit-limit': '60', 'x-ratelimit-remaining': String(remaining), 'x-ratelimit-reset': reset };
}

/** A response in the service's Error shape. */
export function errorResponse(status: number, code: string, message: string, headers = {}): FakeResponse {
  return { status, body: { code, message, status }, headers };
}

function send(response: ServerResponse, { status = 200, body = '', headers = {} }: Content): void {
  const raw = typeof body === 'string' || body instanceof Uint8Array;
  response.statusCode = status;
  response.setHeaders(new Map(Object.entries({ 'content-type': 'application/json', ...headers })));
  response.end(raw ? body : JSON.stringify(body));
}
