// One attempt over real sockets: what is sent, what is returned, and whether a failed attempt may have been received.
import type { RequestListener } from 'node:http';
import { createServer as createHttp } from 'node:http';
import type { AddressInfo, Server, Socket } from 'node:net';
import { createServer as createNet } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { createTransport } from '../../src/http/transport.ts';
import { toTransportError } from '../../src/http/transport-errors.ts';
import type { HttpRequest, HttpResponse, TransportError } from '../../src/http/types.ts';

const servers: Server[] = [];
const sockets = new Set<Socket>();

afterEach(() => {
  for (const socket of sockets) socket.destroy();
  for (const server of servers.splice(0)) server.close();
});

async function listen(server: Server): Promise<number> {
  servers.push(server);
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

/** A server below HTTP: calls back once it has read a whole head. */
function raw(onHead: (socket: Socket) => void): Promise<number> {
  return listen(
    createNet((socket) => {
      let seen = '';
      socket.on('data', (chunk) => {
        seen += chunk.toString('latin1');
        if (seen.includes('\r\n\r\n')) onHead(socket);
      });
    }),
  );
}

const GET: HttpRequest = { method: 'GET', path: '/categories', safe: true };
const POST: HttpRequest = { method: 'POST', path: '/categories', body: '{"name":"dog"}', safe: false };
const KEY = 'sk_test_0123456789';

function send(
  baseUrl: string,
  request: HttpRequest = GET,
  more: { timeoutMs?: number; signal?: AbortSignal; env?: Record<string, string> } = {},
): Promise<HttpResponse> {
  const transport = createTransport({
    baseUrl,
    key: KEY,
    version: '1.2.3',
    env: more.env ?? {},
    nodeVersion: process.versions.node,
    now: () => Date.now(),
  });
  const { timeoutMs = 5000, signal = new AbortController().signal } = more;
  return transport.send(request, { timeoutMs, signal });
}

async function failure(...args: Parameters<typeof send>): Promise<TransportError> {
  return send(...args).then(
    () => expect.unreachable('it succeeded'),
    (error) => error as TransportError,
  );
}

const http = async (listener: RequestListener): Promise<string> =>
  `http://127.0.0.1:${await listen(createHttp(listener))}/v1`;

test('a request has the documented headers and its own connection', async () => {
  const seen: unknown[] = [];
  const url = await http((request, response) => {
    const body: Buffer[] = [];
    request.on('data', (chunk: Buffer) => body.push(chunk));
    request.on('end', () => {
      const { host: _, ...headers } = request.headers;
      seen.push({ method: request.method, url: request.url, headers, body: Buffer.concat(body).toString() });
      response.setHeader('X-RateLimit-Limit', '60').end('[]');
    });
  });
  const reply = await send(url);
  expect(reply.status).toBe(200);
  expect(reply.headers['x-ratelimit-limit']).toBe('60');
  expect(Buffer.from(reply.body).toString()).toBe('[]');
  await send(url, POST);
  const common = {
    authorization: `Bearer ${KEY}`,
    accept: 'application/json',
    'accept-encoding': 'identity',
    'user-agent': 'petstore-cli/1.2.3',
    connection: 'close',
  };
  expect(seen).toEqual([
    { method: 'GET', url: '/v1/categories', headers: common, body: '' },
    {
      method: 'POST',
      url: '/v1/categories',
      headers: { ...common, 'content-type': 'application/json', 'content-length': '14' },
      body: '{"name":"dog"}',
    },
  ]);
});

test('the head is reported before the body has arrived', async () => {
  const url = await http((_request, response) => void response.write('['));
  const transport = createTransport({
    baseUrl: url,
    key: KEY,
    version: '1',
    env: {},
    nodeVersion: process.versions.node,
    now: () => 7,
  });
  const abort = new AbortController();
  const status = await new Promise((resolve) => {
    transport
      .send(GET, { timeoutMs: 5000, signal: abort.signal, onHead: (head) => resolve(head.status) })
      .catch(() => undefined);
  });
  abort.abort();
  expect(status).toBe(200);
});

test('a host that does not exist: nothing was sent', async () => {
  expect(await failure('https://no-such-host.invalid/v1', POST)).toMatchObject({ requestSent: false });
});

test('an aborted attempt ends at once', async () => {
  const abort = new AbortController();
  const port = await raw(() => abort.abort());
  expect(await failure(`http://127.0.0.1:${port}/v1`, POST, { signal: abort.signal })).toMatchObject({
    reason: 'aborted',
    requestSent: true,
  });
  expect(await failure(`http://127.0.0.1:${port}/v1`, POST, { signal: abort.signal })).toMatchObject({
    reason: 'aborted',
    requestSent: false,
  });
});

const MIB = 1 << 20;

/** Answers with a body of this many MiB, or an endless one. */
const pouring = (status: number, mebibytes = Number.POSITIVE_INFINITY): Promise<string> =>
  http((_request, response) => {
    response.statusCode = status;
    const chunk = Buffer.alloc(MIB, 0x20);
    let left = mebibytes;
    const pour = (): void => {
      while (left > 0 && !response.destroyed) {
        left--;
        if (!response.write(chunk)) return;
      }
      response.end();
    };
    response.on('drain', pour);
    pour();
  });

test('an endless body ends at the limit, which is lower for a create', async () => {
  expect(await failure(await pouring(200))).toMatchObject({
    reason: 'too-large',
    detail: expect.stringContaining('32 MiB'),
  });
  const created = await failure(await pouring(201), POST);
  expect(created).toMatchObject({ reason: 'too-large', detail: 'the response exceeds 1 MiB', head: { status: 201 } });
  expect((await send(await pouring(200, 3))).body).toHaveLength(3 * MIB);
});

test.each([GET, POST])('of an endless error only the beginning is read ($method)', async (request) => {
  const { status, body } = await send(await pouring(503), request);
  expect(status).toBe(503);
  expect(body.length).toBeGreaterThanOrEqual(MIB);
  expect(body.length).toBeLessThan(2 * MIB);
});

test('loopback never uses a proxy', async () => {
  const url = await http((_request, response) => response.end('[]'));
  expect(
    (await send(url, GET, { env: { HTTP_PROXY: 'http://127.0.0.1:9', HTTPS_PROXY: 'http://127.0.0.1:9' } })).status,
  ).toBe(200);
});

test('a withdrawn attempt sends nothing: the last check follows the connection', async () => {
  let bytes = 0;
  const port = await listen(createNet((socket) => void socket.on('data', (chunk) => (bytes += chunk.length))));
  const transport = createTransport({
    baseUrl: `http://127.0.0.1:${port}/v1`,
    key: KEY,
    version: '1',
    env: {},
    nodeVersion: process.versions.node,
    now: () => 7,
  });
  const closed = new Promise<void>((resolve) => {
    servers.at(-1)?.on('connection', (socket: Socket) => socket.on('close', () => resolve()));
  });
  const signal = new AbortController().signal;
  const held = transport.send(POST, { timeoutMs: 5000, signal, canSend: () => false });
  await expect(held).rejects.toMatchObject({ reason: 'aborted', requestSent: false });
  await closed;
  expect(bytes).toBe(0);
});

test.each([
  [{ code: 'ENOMEM' }, 'connect', 'the connection failed (ENOMEM)'],
  [new RangeError('WebAssembly.Instance(): Out of memory'), 'connect', 'not enough memory'],
  [{ code: 'ENETUNREACH' }, 'unreachable', 'no route to the host'],
  [{ code: 'CERT_HAS_EXPIRED' }, 'tls', 'the certificate has expired'],
  [{ code: 'ERR_TLS_CERT_ALTNAME_INVALID' }, 'tls', 'the certificate is for another host name'],
  [{ code: 'SELF_SIGNED_CERT_IN_CHAIN' }, 'tls', 'the certificate is not trusted'],
  [{ code: 'EPROTO' }, 'tls', 'the TLS handshake failed'],
])('%s before the request is reported as %s: %s', (error, reason, detail) => {
  const thrown = error instanceof Error ? error : Object.assign(new Error('connect'), error);
  expect(toTransportError(thrown, false)).toMatchObject({ reason, requestSent: false, detail });
});
