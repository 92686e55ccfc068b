// The sandbox: the service of docs/service.md as an HTTP server on loopback.
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { createServer, STATUS_CODES } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Clock } from '../clock.ts';
import { Authenticator } from './auth.ts';
import type { SandboxContext, SandboxOptions } from './context.ts';
import { seededRandom } from './faults.ts';
import { Limiter } from './limiter.ts';
import { PLANS, SANDBOX_KEY } from './plans.ts';
import { RequestHandler } from './request-handler.ts';
import { commonHeaders, HttpError } from './response.ts';
import { dataPaths, Store } from './store.ts';

export interface RunningSandbox {
  readonly port: number;
  /** `http://127.0.0.1:PORT/v1` */
  readonly baseUrl: string;
  /** Closes every connection and the files. */
  close(): Promise<void>;
}

// Slow requests time out; a missing Host is reported by `checkOrigin`, as an Error object.
const SERVER_OPTIONS = {
  headersTimeout: 5_000,
  requestTimeout: 30_000,
  connectionsCheckingInterval: 1_000,
  keepAliveTimeout: 30_000,
  requireHostHeader: false,
  noDelay: true,
} as const;

/** @throws PetstoreError `storage` for damaged data; errors of the file system and of `listen` unchanged */
export async function startSandbox(options: SandboxOptions): Promise<RunningSandbox> {
  const closing = new AbortController();
  const server = createServer(SERVER_OPTIONS);
  server.maxConnections = 100;
  // Listens first: a busy port must not reset the data.
  await listen(server, options.port);
  const { port } = server.address() as AddressInfo;
  let context: SandboxContext;
  try {
    context = openContext({ ...options, port }, closing.signal);
  } catch (error) {
    server.close();
    throw error;
  }
  const pending = serve(server, context);
  return {
    port,
    baseUrl: `http://127.0.0.1:${port}/v1`,
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      closing.abort();
      server.closeAllConnections();
      await Promise.all([closed, ...pending]);
      context.store.close();
      context.limiter.close();
    },
  };
}

/** Starts the sandbox that a command with the profile `sandbox` uses: any free port, the Free plan. */
export async function startEmbedded(options: {
  readonly dataFile: string;
  readonly clock: Clock;
}): Promise<RunningSandbox & { readonly key: string }> {
  const sandbox = await startSandbox({ ...options, port: 0, keys: [SANDBOX_KEY], limits: PLANS.free });
  return { ...sandbox, key: SANDBOX_KEY };
}

function openContext(options: SandboxOptions, closing: AbortSignal): SandboxContext {
  const paths = dataPaths(options.dataFile);
  const { clock, seed, reset = false, fs } = options;
  return {
    retryAfter: 'seconds',
    ...options,
    store: new Store(paths, { reset, fs }),
    limiter: new Limiter(paths, options.limits, { reset, fs }),
    authenticator: new Authenticator(options.keys),
    random: seed === undefined ? () => clock.random() : seededRandom(seed),
    closing,
  };
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    // Without a host it would listen on every interface.
    server.listen({ port, host: '127.0.0.1' }, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

function serve(server: Server, context: SandboxContext): Set<Promise<void>> {
  const pending = new Set<Promise<void>>();
  const handle = (request: IncomingMessage, response: ServerResponse): void => {
    const done: Promise<void> = new RequestHandler(context, request, response)
      .run()
      .finally(() => pending.delete(done));
    pending.add(done);
  };
  server.on('request', handle);
  server.on('checkExpectation', handle);
  server.on('connect', (_request: IncomingMessage, socket: Socket) => respondToClientError(context, 'CONNECT', socket));
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) =>
    respondToClientError(context, error.code, socket),
  );
  return pending;
}

const CLIENT_ERRORS: Readonly<Record<string, readonly [status: number, code: string, message: string]>> = {
  HPE_HEADER_OVERFLOW: [431, 'headers_too_large', 'the request headers are too large'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'request_timeout', 'the request was not complete in time'],
  CONNECT: [405, 'method_not_allowed', 'this server is not a proxy'],
};
const MALFORMED = [400, 'malformed_request', 'this is not a valid HTTP request'] as const;

// Responds to what is not valid HTTP, or not a request for this server. `problem`: the parser's error code, or the method.
function respondToClientError(context: SandboxContext, problem: string | undefined, socket: Socket): void {
  // A second response would corrupt one that has begun.
  const responding = (socket as { _httpMessage?: { headersSent?: boolean } })._httpMessage?.headersSent === true;
  if (responding || !socket.writable || problem === 'ECONNRESET') return void socket.destroy();
  const { status, body } = new HttpError(...(CLIENT_ERRORS[problem ?? ''] ?? MALFORMED)).response;
  const now = context.clock.now();
  const quota = context.limiter.status(undefined, now);
  const headers = { ...commonHeaders(quota, now), 'Content-Length': String(body.length), Connection: 'close' };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  context.onRequest?.({ method: '-', path: '-', status, remaining: quota.remaining, fault: undefined });
  socket.on('error', () => socket.destroy());
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`, () => socket.destroySoon());
}
