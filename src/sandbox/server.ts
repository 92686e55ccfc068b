// The sandbox: the service of docs/service.md as an HTTP server on loopback.
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Clock } from '../clock.ts';
import { PetstoreError } from '../errors.ts';
import { systemReason } from '../system-error.ts';
import type { FaultKind, FaultPlan, FaultRule } from './faults.ts';
import { drawFaultPlan, seededRandom } from './faults.ts';
import type { Limit, QuotaStatus } from './limiter.ts';
import { newKeyUsage, PLANS, quotaStatus } from './limiter.ts';
import { findOperation, OPENAPI_PATH, openapiResponse } from './operations.ts';
import type { RetryAfterFormat, SandboxResponse } from './response.ts';
import { commonHeaders, HttpError, retryAfterHeader, sendResponse, toResponse } from './response.ts';
import { Store } from './store.ts';

export interface ServerOptions {
  /** See `Store`; any number of processes may share it. Undefined: in memory. */
  readonly dataFile: string | undefined;
  readonly clock: Clock;
  /** 0: any free port. */
  readonly port: number;
  /** How the caller spells the option, for messages (default: `port`). */
  readonly portName?: string;
  readonly keys: readonly string[];
  /** All of them apply; none means unlimited. */
  readonly limits: readonly Limit[];
  readonly retryAfter?: RetryAfterFormat;
  readonly faults?: readonly FaultRule[];
  /** Seed for random faults (default: the clock's randomness). */
  readonly seed?: number | undefined;
  /** Deletes the data first. */
  readonly reset?: boolean;
  readonly onRequest?: (record: RequestRecord) => void;
}

export interface RequestRecord {
  readonly method: string;
  /** As received; escape it before printing it. */
  readonly path: string;
  /** Undefined if the connection was reset before the operation ran. */
  readonly status: number | undefined;
  readonly remaining: number;
  readonly fault: FaultKind | undefined;
}

export interface RunningSandbox {
  readonly port: number;
  /** `http://127.0.0.1:PORT/v1` */
  readonly baseUrl: string;
  /** Ends open connections. Any further call returns the same promise. */
  close(): Promise<void>;
}

/** Not a secret: the sandbox listens on loopback only and rejects web pages. */
export const SANDBOX_KEY = 'sandbox_0123456789abcdef';

/** Starts the sandbox that a command with the profile `sandbox` uses: any free port, the Free plan. */
export async function startEmbedded(options: Pick<ServerOptions, 'dataFile' | 'clock'>) {
  const sandbox = await startServer({ ...options, port: 0, keys: [SANDBOX_KEY], limits: PLANS.free });
  return { ...sandbox, key: SANDBOX_KEY };
}

/** @throws PetstoreError `usage` for the port, `storage` for damaged data; errors of the file system unchanged */
export async function startServer(options: ServerOptions): Promise<RunningSandbox> {
  // A missing Host is rejected by `checkOrigin`, with an Error object.
  const server = createServer({ requireHostHeader: false });
  // Listen first, so that a busy port does not reset the data.
  await once(server.listen({ port: options.port, host: '127.0.0.1' }), 'listening').catch((error) => {
    const problem = error.code === 'EADDRINUSE' ? 'is in use' : `cannot be opened (${systemReason(error)})`;
    const hint = `use ${options.portName ?? 'port'} 0 to choose a free port`;
    throw new PetstoreError('usage', `port ${options.port} ${problem}`, { hint, cause: error });
  });
  const { port } = server.address() as AddressInfo;
  let service: Service;
  try {
    service = new Service({ ...options, port });
  } catch (error) {
    server.close();
    throw error;
  }
  server.on('request', (request, response) => void service.handle(request, response));
  const stop = async (): Promise<void> => {
    const ended = once(server.close(), 'close');
    server.closeAllConnections();
    await ended;
    service.close();
  };
  let closed: Promise<void> | undefined;
  return { port, baseUrl: `http://127.0.0.1:${port}/v1`, close: () => (closed ??= stop()) };
}

/** What is known about a request before its operation has run. */
interface Exchange {
  quota: QuotaStatus;
  plan: FaultPlan;
}

class Service {
  readonly #options: ServerOptions;
  readonly #store: Store;
  /** Maps each key to its id in the data, which never contains the key. */
  readonly #keyIds: ReadonlyMap<string, string>;
  readonly #random: () => number;
  readonly #closed = new AbortController();

  constructor(options: ServerOptions) {
    const { clock, dataFile, keys, seed } = options;
    this.#options = options;
    this.#store = new Store(dataFile, options);
    this.#keyIds = new Map(keys.map((key) => [key, createHash('sha256').update(key).digest('hex').slice(0, 16)]));
    this.#random = seed === undefined ? () => clock.random() : seededRandom(seed);
  }

  /** Never rejects. */
  async handle(request: IncomingMessage, to: ServerResponse): Promise<void> {
    const { clock, limits, onRequest } = this.#options;
    // Without a valid key, the whole limit remains.
    const quota = quotaStatus(newKeyUsage(), clock.now(), limits);
    const exchange: Exchange = { quota, plan: { delayMs: 0, fault: undefined } };
    try {
      const response = await this.#respond(request, exchange).catch(toResponse);
      const { quota, plan } = exchange;
      if (plan.delayMs > 0) await clock.sleep(plan.delayMs, this.#closed.signal);
      const fault = plan.fault ?? (plan.delayMs > 0 ? 'latency' : undefined);
      const status = fault === 'reset' ? undefined : response.status;
      onRequest?.({ method: `${request.method}`, path: `${request.url}`, status, remaining: quota.remaining, fault });
      const headers = { ...commonHeaders(quota, clock.now()), ...response.headers };
      sendResponse(to, { ...response, headers }, fault);
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
  async #respond(request: IncomingMessage, exchange: Exchange): Promise<SandboxResponse> {
    const { method = '', url = '', headers } = request;
    checkOrigin(headers, this.#options.port);
    exchange.plan = drawFaultPlan(this.#options.faults ?? [], this.#random);
    // The target may be in absolute form (RFC 9112, section 3.2.2).
    const path = url.replace(/^http:\/\/[^/?]*/i, '').replace(/[?#].*$/s, '');
    if (method === 'GET' && path === OPENAPI_PATH) return openapiResponse();
    const key = this.#keyIds.get(/^bearer +(\S+) *$/i.exec(headers.authorization ?? '')?.[1] ?? '');
    if (key !== undefined) this.#count(exchange, key);
    const operation = findOperation(method, path);
    if (key === undefined) {
      const message = 'the API key is missing or not valid; send Authorization: Bearer <API_KEY>';
      throw new HttpError(401, 'unauthorized', message, { 'WWW-Authenticate': 'Bearer' });
    }
    const { fault } = exchange.plan;
    if (fault === '500' || fault === '503') throw new HttpError(Number(fault), 'injected_fault', 'injected fault');
    if (fault === 'reset') return { status: 0, body: Buffer.alloc(0), headers: {} };
    return operation(request, this.#store);
  }

  /** @throws HttpError 429 */
  #count(exchange: Exchange, key: string): void {
    const { clock, limits, retryAfter } = this.#options;
    const now = clock.now();
    const { rejection, ...quota } = this.#store.admit(key, now, limits);
    exchange.quota = quota;
    if (!rejection) return;
    const message =
      rejection === 'key_banned'
        ? 'this key is temporarily banned because it sent requests before Retry-After had passed'
        : `the limit of ${quota.limit} request${quota.limit === 1 ? '' : 's'} is exhausted`;
    throw new HttpError(429, rejection, message, retryAfterHeader(retryAfter, quota.resetAt, now));
  }
}

/** Rejects requests that a web page could send: a foreign Host (DNS rebinding) or any Origin. */
export function checkOrigin({ host = '', origin }: IncomingMessage['headers'], port: number): void {
  if (origin !== undefined) throw new HttpError(403, 'origin_rejected', 'requests with an Origin header are rejected');
  // Clients omit the default port (RFC 9110, section 7.2).
  const [, name, at = '80'] = /^(127\.0\.0\.1|localhost)(?::(\d+))?$/i.exec(host) ?? [];
  if (name === undefined || at !== String(port)) {
    throw new HttpError(403, 'host_rejected', `the Host must be 127.0.0.1:${port} or localhost:${port}`);
  }
}
