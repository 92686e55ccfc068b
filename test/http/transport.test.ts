// One try over real sockets: what is sent, what comes back, and whether a failed try may have reached the service.
import type { RequestListener } from 'node:http';
import { createServer as createHttp } from 'node:http';
import { createServer as createHttps } from 'node:https';
import type { AddressInfo, Server, Socket } from 'node:net';
import { createServer as createNet } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterEach, expect, test } from 'vitest';
import { createTransport, MAX_RESPONSE_BYTES } from '../../src/http/transport.ts';
import { toTransportError } from '../../src/http/transport-errors.ts';
import type { HttpRequest, HttpResponse, TransportError } from '../../src/http/types.ts';
import { TEST_CERT, TEST_KEY } from '../support/tls.ts';

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

/** A server that says these bytes once it has read a whole head, and then does as it is told. */
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
    () => expect.unreachable('it answered'),
    (error) => error as TransportError,
  );
}

const http = async (listener: RequestListener): Promise<string> =>
  `http://127.0.0.1:${await listen(createHttp(listener))}/v1`;

test('a request carries what the service documents, and one connection each', async () => {
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

test('the head is told before the body has come', async () => {
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

test('a port where nobody listens: nothing was handed over', async () => {
  const port = await listen(createNet());
  servers.splice(0).forEach((server) => void server.close());
  expect(await failure(`http://127.0.0.1:${port}/v1`, POST)).toMatchObject({ reason: 'refused', requestSent: false });
});

test('a host that does not exist: nothing was handed over', async () => {
  expect(await failure('https://no-such-host.invalid/v1', POST)).toMatchObject({ requestSent: false });
});

test('a connection cut after the request was written may have done the work', async () => {
  const port = await raw((socket) => socket.resetAndDestroy());
  expect(await failure(`http://127.0.0.1:${port}/v1`, POST)).toMatchObject({
    reason: 'reset',
    requestSent: true,
    head: undefined,
  });
});

test('a body cut short is a failure that knows the status', async () => {
  const port = await raw((socket) => socket.end('HTTP/1.1 201 Created\r\nContent-Length: 100\r\n\r\n{"id":'));
  const cut = await failure(`http://127.0.0.1:${port}/v1`, POST);
  expect(cut).toMatchObject({ requestSent: true, head: { status: 201 } });
});

test.each([
  ['not HTTP at all', 'SSH-2.0-OpenSSH_9.2\r\n\r\n'],
  ['two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n[]'],
  ['a length and chunks', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
  ['a chunk size that is none', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n'],
])('%s is a failure of the protocol', async (_what, bytes) => {
  const port = await raw((socket) => socket.end(bytes));
  expect(await failure(`http://127.0.0.1:${port}/v1`)).toMatchObject({ reason: 'protocol', requestSent: true });
});

test('no answer in time: the deadline holds although single bytes keep coming', async () => {
  const port = await raw((socket) => {
    socket.write('HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n');
    const drip = setInterval(() => socket.write(' '), 10);
    socket.on('close', () => clearInterval(drip));
  });
  expect(await failure(`http://127.0.0.1:${port}/v1`, GET, { timeoutMs: 300 })).toMatchObject({
    reason: 'timeout',
    requestSent: true,
  });
});

test('an interrupted try ends at once', async () => {
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

test('an endless body is cut off at the limit', async () => {
  const chunk = Buffer.alloc(1 << 20, 0x20);
  const url = await http((_request, response) => {
    const pour = (): void => {
      while (!response.destroyed && response.write(chunk));
    };
    response.on('drain', pour);
    pour();
  });
  expect(MAX_RESPONSE_BYTES).toBe(64 * 1024 * 1024);
  expect(await failure(url)).toMatchObject({ reason: 'too-large' });
});

test('a compressed body is refused: it was not asked for', async () => {
  const url = await http(
    (_request, response) => void response.setHeader('content-encoding', 'gzip').end(gzipSync('[]')),
  );
  expect(await failure(url)).toMatchObject({ reason: 'encoding', head: { status: 200 } });
});

test('a redirect is not followed', async () => {
  let visits = 0;
  const url = await http((_request, response) => {
    visits++;
    response.writeHead(307, { location: '/elsewhere' }).end();
  });
  expect((await send(url, POST)).status).toBe(307);
  expect(visits).toBe(1);
});

test('a certificate nobody vouches for is refused before anything is sent', async () => {
  let requests = 0;
  const port = await listen(
    createHttps({ key: TEST_KEY, cert: TEST_CERT }, (_request, response) => response.end(String(requests++))),
  );
  expect(await failure(`https://127.0.0.1:${port}/v1`, POST)).toMatchObject({ reason: 'tls', requestSent: false });
  expect(requests).toBe(0);
});

test('loopback is direct whatever the proxy variables say', async () => {
  const url = await http((_request, response) => response.end('[]'));
  expect(
    (await send(url, GET, { env: { HTTP_PROXY: 'http://127.0.0.1:9', HTTPS_PROXY: 'http://127.0.0.1:9' } })).status,
  ).toBe(200);
});

test('a proxy that refuses is named as the reason, its password is not', async () => {
  const port = await listen(
    createHttp().on('connect', (_request, socket) => socket.end('HTTP/1.1 403 Forbidden\r\n\r\n')),
  );
  const refused = await failure('https://pets.example/v1', POST, {
    env: { HTTPS_PROXY: `http://me:hunter2@127.0.0.1:${port}` },
  });
  expect(refused).toMatchObject({ requestSent: false });
  expect(JSON.stringify(refused) + refused.message).not.toContain('hunter2');
});

test('a try that may not go is not written: the last look comes when the connection stands', async () => {
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

test('an error of an unknown code before the request is not called a missing route', () => {
  const error = toTransportError(Object.assign(new Error('connect'), { code: 'ENOMEM' }), false);
  expect(error.reason).toBe('connect');
  expect(error.message).not.toContain('route');
});
