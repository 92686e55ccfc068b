// The sandbox: the service of docs/service.md as an HTTP server on loopback.
import { createHash } from 'node:crypto';
import { once, setMaxListeners } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Clock } from '../clock.ts';
import { isSystemError, PetstoreError, systemError, systemReason } from '../errors.ts';
import { escapeControls } from '../text/escape.ts';
import { formatCount } from '../text/format.ts';
import type { FaultKind } from './faults.ts';
import { drawFaultPlan, seededRandom } from './faults.ts';
import type { QuotaStatus } from './limiter.ts';
import { newKeyUsage, quotaStatus } from './limiter.ts';
import { findOperation, OPENAPI_PATH, openapiResponse } from './operations.ts';
import type { SandboxResponse } from './response.ts';
import { commonHeaders, HttpError, retryAfterHeader, sendResponse, toResponse } from './response.ts';
import type { GivenSettings, NameOption, SandboxSettings } from './settings.ts';
import { readSettings } from './settings.ts';
import { Store } from './store.ts';

export interface ServerOptions extends GivenSettings {
  readonly clock: Clock;
  /** How messages name an option; undefined if the user did not choose the options. */
  readonly nameOf?: NameOption;
  /** Deletes the data first. */
  readonly reset?: boolean;
  readonly onRequest?: (record: RequestRecord) => void;
}

export interface RequestRecord {
  readonly method: string;
  /** With the query redacted; escape it before printing it. */
  readonly path: string;
  /** Undefined if the connection was reset before the operation ran. */
  readonly status: number | undefined;
  readonly remaining: number;
  readonly fault: FaultKind | undefined;
}

export interface RunningSandbox extends SandboxSettings {
  /** `http://127.0.0.1:PORT/v1` */
  readonly baseUrl: string;
  /** Ends open connections; may be called again. */
  close(): Promise<void>;
}

/** @throws PetstoreError `usage` for an option, `storage` for damaged data; without `nameOf`, file system errors unchanged */
export async function startServer(options: ServerOptions): Promise<RunningSandbox> {
  const nameOf = options.nameOf ?? String;
  const settings = readSettings(options, nameOf);
  // A missing Host is rejected by `checkOrigin`, with an Error object.
  const server = createServer({ requireHostHeader: false });
  // Listen first, so that a busy port does not reset the data.
  await once(server.listen({ port: settings.port, host: '127.0.0.1' }), 'listening').catch((error) => {
    const problem = error.code === 'EADDRINUSE' ? 'is in use' : `cannot be opened (${systemReason(error)})`;
    const hint = `use ${nameOf('port')} 0 to choose a free port`;
    throw new PetstoreError('usage', `port ${settings.port} ${problem}`, { hint, cause: error });
  });
  const { port } = server.address() as AddressInfo;
  let handler: RequestHandler;
  try {
    handler = new RequestHandler({ ...options, ...settings, port });
  } catch (error) {
    server.close();
    if (!options.nameOf || !isSystemError(error)) throw error;
    const hint = `use ${nameOf('data')} with a path that you can write to`;
    throw systemError(error, `create "${escapeControls(`${settings.dataFile}`)}"`, { hint });
  }
  // Pipelined requests take turns: each may depend on the one before it.
  const turns = new WeakMap<Socket, { readonly request: IncomingMessage; readonly ended: Promise<void> }>();
  server.on('request', (request, response) => {
    const { socket } = request;
    const ended = Promise.resolve(turns.get(socket)?.ended).then(() => handler.handle(request, response));
    turns.set(socket, { request, ended });
  });
  // Node.js itself would respond with a 400 to a complete request that is followed by garbage, although its operation runs.
  server.on('clientError', async ({ code = '' }: NodeJS.ErrnoException, socket: Socket) => {
    const last = turns.get(socket);
    if (last?.request.complete) await last.ended;
    const status = CLIENT_ERRORS[code] ?? '400 Bad Request';
    if (socket.writable) socket.write(`HTTP/1.1 ${status}\r\nConnection: close\r\n\r\n`);
    socket.destroySoon();
  });
  const baseUrl = `http://127.0.0.1:${port}/v1`;
  const ended = once(server, 'close');
  const close = async (): Promise<void> => {
    server.close();
    server.closeAllConnections();
    await ended;
    handler.close();
  };
  return { ...settings, port, baseUrl, close };
}

const CLIENT_ERRORS: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
};

class RequestHandler {
  readonly #options: ServerOptions & SandboxSettings;
  readonly #store: Store;
  /** Maps each key to its id in the data, which never contains the key. */
  readonly #keyIds: ReadonlyMap<string, string>;
  readonly #random: () => number;
  readonly #closed = new AbortController();

  constructor(options: ServerOptions & SandboxSettings) {
    const { dataFile, keys, seed } = options;
    this.#options = options;
    this.#store = new Store(dataFile, options);
    this.#keyIds = new Map(keys.map((key) => [key, createHash('sha256').update(key).digest('hex').slice(0, 16)]));
    this.#random = seededRandom(seed);
    // Many responses may be delayed at once.
    setMaxListeners(0, this.#closed.signal);
  }

  /** Resolves when the response was sent or the connection has ended. Never rejects. */
  async handle(request: IncomingMessage, to: ServerResponse): Promise<void> {
    // The response to an earlier request closed the connection.
    if (!to.socket || to.socket.destroyed) return;
    const { clock, faults, limits, onRequest } = this.#options;
    const { delayMs, fault } = drawFaultPlan(faults, this.#random);
    // Without a valid key, the whole limit remains.
    let quota = quotaStatus(newKeyUsage(), clock.now(), limits);
    const count = (key: string): void => {
      quota = this.#store.admit(key, clock.now(), limits);
      this.#checkAdmitted(quota);
    };
    try {
      const response = await this.#respond(request, count, fault).catch(toResponse);
      if (delayMs > 0) await clock.sleep(delayMs, this.#closed.signal);
      const status = fault === 'reset' ? undefined : response.status;
      // A client may have put its key into the query, which no operation uses.
      const path = `${request.url}`.replace(/\?.+/s, '?[redacted]');
      onRequest?.({ method: `${request.method}`, path, status, remaining: quota.remaining, fault });
      const headers = { ...commonHeaders(quota, clock.now()), ...response.headers };
      await sendResponse(to, { ...response, headers }, fault);
    } catch {
      // The server is closing.
      to.destroy();
    }
  }

  close(): void {
    this.#closed.abort();
    this.#store.close();
  }

  // A request with a valid key counts even if its operation fails.
  async #respond(
    request: IncomingMessage,
    count: (key: string) => void,
    fault: FaultKind | undefined,
  ): Promise<SandboxResponse> {
    const { method = '', url = '', headers } = request;
    checkOrigin(request.headersDistinct, this.#options.port);
    // The target may be in absolute form (RFC 9112, section 3.2.2).
    const path = url.replace(/^http:\/\/[^/?]*/i, '').replace(/[?#].*$/s, '');
    if (method === 'GET' && path === OPENAPI_PATH) return openapiResponse();
    const key = this.#keyIds.get(/^bearer +(\S+) *$/i.exec(headers.authorization ?? '')?.[1] ?? '');
    if (key !== undefined) count(key);
    const operation = findOperation(method, path);
    if (key === undefined) {
      const how = headers.authorization === undefined ? '; send Authorization: Bearer <API_KEY>' : '';
      const message = `the API key is missing or invalid${how}`;
      throw new HttpError(401, 'unauthorized', message, { 'WWW-Authenticate': 'Bearer' });
    }
    if (fault === '500' || fault === '503') throw new HttpError(Number(fault), 'injected_fault', 'injected fault');
    if (fault === 'reset') return { status: 0, body: Buffer.alloc(0), headers: {} };
    return operation(request, this.#store);
  }

  /** @throws HttpError 429 */
  #checkAdmitted({ rejection, limit, resetAt }: QuotaStatus): void {
    const { clock, retryAfter } = this.#options;
    if (!rejection) return;
    const message =
      rejection === 'key_banned'
        ? 'this key is temporarily banned because it sent requests before Retry-After had passed'
        : `the limit of ${formatCount(limit, 'request')} is reached`;
    throw new HttpError(429, rejection, message, retryAfterHeader(retryAfter, resetAt, clock.now()));
  }
}

/** Rejects requests that a web page could send: a foreign Host (DNS rebinding) or any Origin. */
export function checkOrigin({ host: hosts = [''], origin }: NodeJS.Dict<string[]>, port: number): void {
  const [host = ''] = hosts;
  if (hosts.length > 1) throw new HttpError(400, 'invalid_host', 'the request has more than one Host header');
  if (origin !== undefined) throw new HttpError(403, 'origin_rejected', 'requests with an Origin header are rejected');
  // Clients omit the default port (RFC 9110, section 7.2).
  const [, name, at = '80'] = /^(127\.0\.0\.1|localhost)(?::(\d+))?$/i.exec(host) ?? [];
  if (name === undefined || at !== String(port)) {
    throw new HttpError(403, 'host_rejected', `the Host must be 127.0.0.1:${port} or localhost:${port}`);
  }
}
