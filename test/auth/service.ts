// A service for the login tests: it knows one key and remembers what it was asked.
import type { IncomingHttpHeaders } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** The key the service accepts. */
export const GOOD_KEY = 'canary-key-good-0123456789';

/** A running service. */
export interface Service {
  readonly origin: string;
  readonly url: string;
  readonly requests: { readonly line: string; readonly headers: IncomingHttpHeaders }[];
  close(): void;
}

/** Starts it on a free port of 127.0.0.1. */
export async function startService(): Promise<Service> {
  const requests: Service['requests'] = [];
  const server = createServer((request, response) => {
    requests.push({ line: `${request.method} ${request.url}`, headers: request.headers });
    const known = request.headers.authorization === `Bearer ${GOOD_KEY}`;
    const refusal = { code: 'unauthorized', message: 'The API key is not valid.', status: 401 };
    const reset = Math.floor(Date.now() / 1000) + 30;
    const rate = { 'x-ratelimit-limit': 60, 'x-ratelimit-remaining': 57, 'x-ratelimit-reset': reset };
    response.writeHead(known ? 200 : 401, { 'content-type': 'application/json', ...rate });
    response.end(JSON.stringify(known ? [{ id: 1, name: 'cat' }] : refusal));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    origin,
    url: `${origin}/v1`,
    requests,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
