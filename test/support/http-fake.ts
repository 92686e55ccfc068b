// An HTTP server whose responses come from a function of the test, and that keeps all requests.
// For invalid HTTP use raw-server.ts, for rate limits limited-service.ts or the sandbox.
import { once } from 'node:events';
import type { IncomingHttpHeaders, RequestListener, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

export interface ReceivedRequest {
  readonly method: string;
  /** Path and query, for example `/v1/categories`. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A body that is neither text nor bytes is sent as JSON; `reset` closes the connection, `silence` sends nothing. */
export type FakeResponse =
  | { readonly status?: number; readonly body?: unknown; readonly headers?: Readonly<Record<string, string>> }
  | 'reset'
  | 'silence';

export interface HttpFake {
  readonly port: number;
  readonly origin: string;
  readonly url: string;
  readonly requests: ReceivedRequest[];
  readonly close: () => void;
}

/**
 * Starts a server on a free port of 127.0.0.1.
 * @param respond a promise delays the response
 * @param tls key and certificate, for https
 */
export async function startHttpFake(
  respond: (request: ReceivedRequest) => FakeResponse | Promise<FakeResponse>,
  tls?: { readonly key: string; readonly cert: string },
): Promise<HttpFake> {
  const requests: ReceivedRequest[] = [];
  const listener: RequestListener = async (incoming, response) => {
    const { method = '', url: path = '', headers } = incoming;
    const request = { method, path, headers, body: await text(incoming) };
    requests.push(request);
    send(response, await respond(request));
  };
  const server = tls ? createTlsServer(tls, listener) : createServer(listener);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  // The test certificate is for localhost.
  const origin = tls ? `https://localhost:${port}` : `http://127.0.0.1:${port}`;
  return {
    port,
    origin,
    url: `${origin}/v1`,
    requests,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** The rate-limit headers of a window that resets in 30 s. */
export function quotaHeaders(remaining = 57): Record<string, string> {
  const reset = String(Math.floor(Date.now() / 1000) + 30);
  return { 'x-ratelimit-limit': '60', 'x-ratelimit-remaining': String(remaining), 'x-ratelimit-reset': reset };
}

/** A response in the service's Error shape. */
export function errorResponse(status: number, code: string, message: string, headers = {}): FakeResponse {
  return { status, body: { code, message, status }, headers };
}

function send(response: ServerResponse, content: FakeResponse): void {
  if (content === 'silence') return;
  if (content === 'reset') return void response.socket?.destroy();
  const { status = 200, body = '', headers = {} } = content;
  const raw = typeof body === 'string' || body instanceof Uint8Array;
  response.statusCode = status;
  response.setHeaders(new Map(Object.entries({ 'content-type': 'application/json', ...headers })));
  response.end(raw ? body : JSON.stringify(body));
}
