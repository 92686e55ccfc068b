// One attempt of one request over undici: its own connection, a total timeout and a size limit.
import { Buffer } from 'node:buffer';
import type { Socket } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import type { buildConnector as Connector, Dispatcher } from 'undici';
import buildConnector from 'undici/lib/core/connect.js';
import Client from 'undici/lib/dispatcher/client.js';
import { formatDuration } from '../format.ts';
import { proxyFor } from './proxy.ts';
import { toTransportError } from './transport-errors.ts';
import type { Head, HttpHeaders, HttpRequest, HttpResponse, Transport } from './types.ts';
import { TransportError } from './types.ts';

/** The largest response to a read. */
const MAX_RESPONSE_BYTES = 32 * 1024 * 1024;
/** The largest response to anything else; of an error only so much is read. */
const MAX_SHORT_RESPONSE_BYTES = 1024 * 1024;
/** Node's own default. */
const MAX_HEADER_BYTES = 16 * 1024;
const CONNECT_TIMEOUT_MS = 10_000;

interface TransportOptions {
  /** Without a trailing slash: `https://host/v1`. */
  readonly baseUrl: string;
  readonly key: string;
  /** For `User-Agent`. */
  readonly version: string;
  /** Where the proxy variables are read. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly nodeVersion: string;
  /** The wall clock, epoch milliseconds. */
  readonly now: () => number;
}

type SendOptions = Parameters<Transport['send']>[1];

/** @throws PetstoreError `usage` for an invalid proxy variable; `send` rejects with TransportError only */
export function createTransport(options: TransportOptions): Transport {
  // Node 20 compiles the HTTP parser a second time, which delays the exit by 80 ms.
  if (/^20\./.test(options.nodeVersion)) setFlagsFromString('--liftoff-only');
  const base = new URL(options.baseUrl);
  // Shared by all attempts, so that TLS sessions are resumed.
  const connect = buildConnector({ timeout: CONNECT_TIMEOUT_MS, rejectUnauthorized: true, allowH2: false });
  const proxy = proxyFor(base, options.env);
  const connector = (signal: AbortSignal): Connector.connector =>
    proxy ? connectThrough(proxy, connect, signal) : connect;
  return {
    // A pooled connection may be closed by the service just as a create is written to it (measured: up to 126 of 300).
    send: async (request, how) =>
      exchange(
        new Client(base.origin, {
          headersTimeout: 0,
          bodyTimeout: 0,
          maxHeaderSize: MAX_HEADER_BYTES,
          pipelining: 0,
          connect: await connector(how.signal),
        }),
        dispatchOptions(base, options, request),
        { ...how, maxBytes: request.safe ? MAX_RESPONSE_BYTES : MAX_SHORT_RESPONSE_BYTES, now: options.now },
      ),
  };
}

function connectThrough(proxy: URL, connect: Connector.connector, signal: AbortSignal): Connector.connector {
  const open = async ({ hostname, port }: Connector.Options): Promise<Socket> => {
    const { openTunnel } = await import('./proxy-tunnel.ts');
    return openTunnel(proxy, `${hostname}:${port || 443}`, { timeout: CONNECT_TIMEOUT_MS, signal });
  };
  return (options, callback) => {
    open(options).then(
      (httpSocket) => connect({ ...options, httpSocket }, callback),
      (error: Error) => callback(error, null),
    );
  };
}

function dispatchOptions(base: URL, options: TransportOptions, request: HttpRequest): Dispatcher.DispatchOptions {
  const headers: Record<string, string> = {
    authorization: `Bearer ${options.key}`,
    accept: 'application/json',
    // The size limit counts bytes on the wire, so compression would evade it.
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
  options: SendOptions & { readonly maxBytes: number; readonly now: () => number },
): Promise<HttpResponse> {
  const { signal, timeoutMs, maxBytes, now } = options;
  return new Promise<HttpResponse>((resolve, reject) => {
    let requestSent = false;
    let sentAt = now();
    let head: Head | undefined;
    let received = 0;
    const chunks: Buffer[] = [];

    const settle = (failure?: TransportError): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
      // Before `destroy`, which fails the request with an error of its own.
      if (failure) reject(failure);
      else if (head) resolve({ ...head, body: Buffer.concat(chunks) });
      // Not `close`: a server that keeps the connection open must not delay the exit.
      dispatcher.destroy().catch(() => undefined);
    };
    const fail = (reason: TransportError['reason'], detail: string): void =>
      settle(new TransportError(reason, requestSent, detail, head));
    const onAbort = (): void => fail('aborted', 'interrupted');
    const timer = setTimeout(() => fail('timeout', `no complete response within ${duration(timeoutMs)}`), timeoutMs);
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) return onAbort();

    dispatcher.dispatch(request, {
      onRequestStart(controller) {
        if (options.canSend?.() === false) {
          fail('aborted', 'withdrawn before anything was sent');
          controller.abort(new Error('withdrawn'));
          return;
        }
        // Called just before the head is written: from here on the service may have received the request.
        requestSent = true;
        sentAt = now();
      },
      onResponseStart(_controller, status, headers) {
        if (status < 200) return;
        head = { status, headers: headers as HttpHeaders, receivedAt: now(), sentAt };
        options.onHead?.(head);
        if ((headers['content-encoding'] ?? 'identity') !== 'identity') {
          fail('encoding', 'the response is compressed although that was not requested');
        }
      },
      onResponseData(_controller, chunk) {
        received += chunk.length;
        chunks.push(chunk);
        if (head && head.status >= 400 && received >= MAX_SHORT_RESPONSE_BYTES) settle();
        else if (received > maxBytes) fail('too-large', `the response exceeds ${maxBytes / 1024 / 1024} MiB`);
      },
      onResponseEnd: () => settle(),
      onResponseError: (_controller, error) => settle(toTransportError(error, requestSent, head)),
    });
  });
}

function duration(ms: number): string {
  return ms < 1000 ? `${ms} ms` : formatDuration(ms);
}
