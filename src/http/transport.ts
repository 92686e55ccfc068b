// Sends one attempt over undici, through a proxy if one is set, with a total timeout and a size limit.
import { Buffer } from 'node:buffer';
import type { IncomingHttpHeaders } from 'node:http';
import type { buildConnector, Dispatcher } from 'undici';
import Agent from 'undici/lib/dispatcher/agent.js';
import { formatChosenDuration } from '../text/format.ts';
import type { ProxySetting } from './proxy.ts';
import { proxyFor } from './proxy.ts';
import { toTransportError } from './transport-errors.ts';
import type {
  HttpHeaders,
  HttpRequest,
  HttpResponse,
  ResponseHead,
  SendOptions,
  Transport,
  TransportErrorReason,
} from './types.ts';
import { TransportError } from './types.ts';

/** About 330,000 categories; a list of this size needs 640 MB of memory. */
const MAX_RESPONSE_BYTES = 64 * 1024 * 1024;
/** A longer error response is truncated. */
const MAX_ERROR_BYTES = 1024 * 1024;
const MAX_HEADER_BYTES = 16 * 1024;
const CONNECT_TIMEOUT_MS = 10_000;
/** After a longer idle time, the service may close the connection just as a create is written to it. */
const REUSED_FOR_MS = 500;

interface TransportOptions {
  /** Without a trailing slash: `https://host/v1`. */
  readonly baseUrl: string;
  readonly key: string;
  readonly version: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly now: () => number;
}

/** @throws PetstoreError `usage` for an invalid proxy variable */
export function createTransport(options: TransportOptions): Transport {
  const base = new URL(options.baseUrl);
  const agent = openAgent(proxyFor(base, options.env));
  // After a connection reset, open a new connection for each request.
  let reuse = true;
  const onReset = (): void => {
    reuse = false;
  };
  const context = { now: options.now, host: base.host, onReset };
  return {
    send(request, how) {
      return exchange(agent, dispatchOptions(base, options, request, reuse), how, context);
    },
    close: () => agent.destroy(),
  };
}

function openAgent(proxy: ProxySetting | undefined): Dispatcher {
  const throughProxy: buildConnector.connector = (to, done) =>
    void import('./proxy-tunnel.ts')
      .then(({ openTunnel }) => openTunnel(proxy as ProxySetting, to, CONNECT_TIMEOUT_MS))
      .then(
        (socket) => done(null, socket),
        (error: Error) => done(error, null),
      );
  return new Agent({
    headersTimeout: 0,
    bodyTimeout: 0,
    maxHeaderSize: MAX_HEADER_BYTES,
    keepAliveTimeout: REUSED_FOR_MS,
    keepAliveMaxTimeout: REUSED_FOR_MS,
    allowH2: false,
    connect: proxy ? throughProxy : { timeout: CONNECT_TIMEOUT_MS, rejectUnauthorized: true, allowH2: false },
  });
}

function dispatchOptions(
  base: URL,
  options: TransportOptions,
  request: HttpRequest,
  reuse: boolean,
): Dispatcher.DispatchOptions {
  const headers: Record<string, string> = {
    authorization: `Bearer ${options.key}`,
    accept: 'application/json',
    // undici does not decompress bodies.
    'accept-encoding': 'identity',
    'user-agent': `petstore-cli/${options.version}`,
  };
  if (request.noCache) headers['cache-control'] = 'no-cache';
  if (request.body !== undefined) headers['content-type'] = 'application/json';
  return {
    origin: base.origin,
    path: `${base.pathname.replace(/\/$/, '')}${request.path}`,
    method: request.method as Dispatcher.HttpMethod,
    headers,
    body: request.body === undefined ? null : Buffer.from(request.body),
    reset: !reuse,
  };
}

function exchange(
  agent: Dispatcher,
  request: Dispatcher.DispatchOptions,
  { timeoutMs, signal, onHead, beforeSend }: SendOptions,
  { now, host, onReset }: { readonly now: () => number; readonly host: string; readonly onReset: () => void },
): Promise<HttpResponse> {
  return new Promise<HttpResponse>((resolve, reject) => {
    let requestSent = false;
    let sentAt = now();
    let head: ResponseHead | undefined;
    let ended = false;
    let controller: Dispatcher.DispatchController | undefined;
    const body = new Body();

    const finish = (failure?: unknown): void => {
      if (ended) return;
      ended = true;
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
      // The status of an error is enough, even if the rest of its body is missing.
      if (head && (!failure || (head.status >= 400 && !signal.aborted)))
        resolve(Object.assign(head, { body: body.bytes() }));
      else reject(failure);
    };
    // Ends the attempt early and closes the connection.
    const abort = (failure?: unknown): void => {
      finish(failure);
      controller?.abort(new Error('aborted'));
    };
    const fail = (reason: TransportErrorReason, message: string): void =>
      abort(new TransportError(reason, requestSent, message, { head }));
    const onAbort = (): void => fail('aborted', 'interrupted');
    const timer = setTimeout(
      () => fail('timeout', `the request timed out after ${formatChosenDuration(timeoutMs)}`),
      timeoutMs,
    );
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) return onAbort();

    agent.dispatch(request, {
      // Called just before the head is written: from now on, the service may have received the request.
      onRequestStart(started) {
        controller = started;
        if (ended) return abort();
        try {
          beforeSend?.();
        } catch (error) {
          finish(error);
          // undici keeps the connection, which the next attempt uses; `abort` would close it.
          throw error;
        }
        requestSent = true;
        sentAt = now();
      },
      onResponseStart(_controller, status, headers) {
        if (status < 200) return;
        head = { status, headers: joined(headers), receivedAt: now(), sentAt };
        onHead?.(head);
      },
      onResponseData(_controller, chunk) {
        body.add(chunk);
        if (head && head.status >= 400 && body.size >= MAX_ERROR_BYTES) abort();
        else if (body.size > MAX_RESPONSE_BYTES) fail('too-large', 'the response is larger than 64 MiB');
      },
      onResponseEnd: () => finish(),
      onResponseError(_controller, error) {
        const failure = toTransportError(error, requestSent, head, host);
        if (failure.reason === 'reset') onReset();
        finish(failure);
      },
    });
  });
}

const EMPTY = Buffer.alloc(0);

/** Copies the chunks of a body into one buffer: a list of chunks of one byte each would need a hundred times their memory. */
class Body {
  size = 0;
  #buffer = EMPTY;

  add(chunk: Buffer): void {
    const size = this.size + chunk.length;
    if (size > this.#buffer.length) {
      const larger = Buffer.allocUnsafe(Math.max(size, 2 * this.size));
      larger.set(this.bytes());
      this.#buffer = larger;
    }
    this.#buffer.set(chunk, this.size);
    this.size = size;
  }

  bytes(): Buffer {
    return this.#buffer.subarray(0, this.size);
  }
}

// Joins the values of a repeated header; equal values count once.
function joined(headers: IncomingHttpHeaders): HttpHeaders {
  const result: Record<string, string> = {};
  for (const [name, value = ''] of Object.entries(headers)) {
    result[name] = typeof value === 'string' ? value.trim() : [...new Set(value.map((one) => one.trim()))].join(', ');
  }
  return result;
}
