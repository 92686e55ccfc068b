// One try of one request over undici: a fresh connection, a total deadline, a size limit, and whether bytes left.
import { Buffer } from 'node:buffer';
import { setFlagsFromString } from 'node:v8';
import type { Dispatcher } from 'undici';
import buildConnector from 'undici/lib/core/connect.js';
import Client from 'undici/lib/dispatcher/client.js';
import { formatDuration } from '../duration.ts';
import { proxyFor } from './proxy.ts';
import { toTransportError } from './transport-errors.ts';
import type { Head, HttpHeaders, HttpRequest, HttpResponse, Transport } from './types.ts';
import { TransportError } from './types.ts';

/** The largest reply read, in bytes: an endless body must not fill the memory. */
export const MAX_RESPONSE_BYTES = 64 * 1024 * 1024;
const CONNECT_TIMEOUT_MS = 10_000;

/** What a transport needs to know. */
export interface TransportOptions {
  /** Origin and base path, no trailing slash: `https://host/v1`. */
  readonly baseUrl: string;
  /** The API key; it goes into `Authorization` and nowhere else. */
  readonly key: string;
  /** Program version, for `User-Agent`. */
  readonly version: string;
  /** Where HTTPS_PROXY, HTTP_PROXY and NO_PROXY are read. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** As `process.versions.node` says it. */
  readonly nodeVersion: string;
  /** The wall clock, epoch milliseconds. */
  readonly now: () => number;
}

/**
 * Makes a transport for one base URL and key.
 * @param options where to, with which key
 * @returns a transport; `send` rejects with TransportError only
 * @throws PetstoreError `usage` where a proxy variable holds no http or https URL
 */
export function createTransport(options: TransportOptions): Transport {
  // Node 20 compiles the HTTP parser a second time, and keeps the process for 80 ms until that is done; later ones do not.
  if (/^20\./.test(options.nodeVersion)) setFlagsFromString('--liftoff-only');
  const base = new URL(options.baseUrl);
  // One connector for all tries: TLS sessions are resumed although every try has its own connection.
  const connect = buildConnector({ timeout: CONNECT_TIMEOUT_MS, rejectUnauthorized: true, allowH2: false });
  const proxy = proxyFor(base, options.env);
  const dispatcher = async (): Promise<Dispatcher> => {
    const limits = { headersTimeout: 0, bodyTimeout: 0, maxResponseSize: MAX_RESPONSE_BYTES, pipelining: 0 };
    // A pooled connection may be closed by the service just as a create is written to it (measured: up to 126 of 300).
    if (!proxy) return new Client(base.origin, { ...limits, connect });
    const { openProxy } = await import('./proxy-agent.ts');
    return openProxy(proxy, limits);
  };
  return {
    send: async (request, how) =>
      exchange(await dispatcher(), dispatchOptions(base, options, request), how, options.now),
  };
}

function spell(ms: number): string {
  return ms < 1000 ? `${ms} ms` : formatDuration(ms);
}

function dispatchOptions(base: URL, options: TransportOptions, request: HttpRequest): Dispatcher.DispatchOptions {
  const headers: Record<string, string> = {
    authorization: `Bearer ${options.key}`,
    accept: 'application/json',
    // Compressed replies would slip past the size limit, which counts bytes on the wire.
    'accept-encoding': 'identity',
    'user-agent': `petstore-cli/${options.version}`,
  };
  if (request.body !== undefined) headers['content-type'] = 'application/json';
  return {
    origin: base.origin,
    path: `${base.pathname.replace(/\/$/, '')}${request.path}`,
    method: request.method as Dispatcher.HttpMethod,
    headers,
    body: request.body === undefined ? null : Buffer.from(request.body),
    reset: true,
  };
}

function exchange(
  dispatcher: Dispatcher,
  request: Dispatcher.DispatchOptions,
  how: Parameters<Transport['send']>[1],
  now: () => number,
): Promise<HttpResponse> {
  return new Promise<HttpResponse>((resolve, reject) => {
    let requestSent = false;
    let sentAt = now();
    let head: Head | undefined;
    const chunks: Buffer[] = [];

    const settle = (failure?: TransportError): void => {
      clearTimeout(deadline);
      how.signal.removeEventListener('abort', onAbort);
      // First told, then destroyed: destroying fails what is still queued, and the first word counts.
      if (failure) reject(failure);
      else if (head) resolve({ ...head, body: Buffer.concat(chunks) });
      // Destroyed, not closed: a server that keeps the connection open must not keep the process.
      dispatcher.destroy().catch(() => undefined);
    };
    const fail = (reason: 'timeout' | 'aborted', detail: string): void =>
      settle(new TransportError(reason, requestSent, detail, head));
    const onAbort = (): void => fail('aborted', 'interrupted');
    const deadline = setTimeout(
      () => fail('timeout', `no complete answer within ${spell(how.timeoutMs)}`),
      how.timeoutMs,
    );
    how.signal.addEventListener('abort', onAbort, { once: true });
    if (how.signal.aborted) return onAbort();

    dispatcher.dispatch(request, {
      onRequestStart(controller) {
        if (how.canSend?.() === false) {
          fail('aborted', 'withdrawn before anything was sent');
          controller.abort(new Error('withdrawn'));
          return;
        }
        // Called just before the head is written: from here on the service may have seen the request.
        requestSent = true;
        sentAt = now();
      },
      onResponseStart(_controller, status, headers) {
        if (status < 200) return;
        head = { status, headers: headers as HttpHeaders, receivedAt: now(), sentAt };
        how.onHead?.(head);
        const encoding = headers['content-encoding'];
        if (encoding !== undefined && encoding !== 'identity') {
          settle(
            new TransportError('encoding', requestSent, 'the body is compressed although that was not asked for', head),
          );
        }
      },
      onResponseData(_controller, chunk) {
        chunks.push(chunk);
      },
      onResponseEnd: () => settle(),
      onResponseError: (_controller, error) => settle(toTransportError(error, requestSent, head)),
    });
  });
}
