// Attempts over real sockets: bytes sent, response, whether a failed request was sent, and reuse of connections.
import { execFile } from 'node:child_process';
import { getEventListeners } from 'node:events';
import type { Socket } from 'node:net';
import { promisify } from 'node:util';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createTransport } from '../../src/http/transport.ts';
import { toTransportError } from '../../src/http/transport-errors.ts';
import type { HttpRequest, HttpResponse, SendOptions } from '../../src/http/types.ts';
import { compile } from '../support/compile.ts';
import { startHttpFake } from '../support/http-fake.ts';
import { response, startTcpServer } from '../support/raw-server.ts';

const GET: HttpRequest = { method: 'GET', path: '/categories' };
const POST: HttpRequest = { method: 'POST', path: '/categories', body: '{"name":"dog"}' };
const KEY = 'sk_test_0123456789';

type Attempt = Partial<SendOptions>;

function open(baseUrl: string, env = {}, now = Date.now) {
  const transport = createTransport({ baseUrl, key: KEY, version: '1.2.3', env, now });
  return (request = GET, how: Attempt = {}): Promise<HttpResponse> =>
    transport.send(request, { timeoutMs: 30_000, signal: new AbortController().signal, ...how });
}

const send = (baseUrl: string, request = GET, how: Attempt = {}, env = {}) => open(baseUrl, env)(request, how);

async function serve(onRequest: (socket: Socket) => unknown) {
  const server = await startHttpFake(() => onRequest);
  onTestFinished(server.close);
  return server;
}

/** Replaces the timers until the end of the test. */
function useFakeTimers(): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
}

/** The options of an attempt that times out once the head of its response has arrived, without a real wait. */
function timeoutAfterHead(): Attempt {
  useFakeTimers();
  return { timeoutMs: 60_000, onHead: () => void setImmediate(() => vi.advanceTimersByTime(60_000)) };
}

const responding = (bytes: Buffer | string) => serve((socket) => socket.end(bytes));

test('a GET and a POST have exactly the expected path, headers and body', async () => {
  const { url, requests } = await responding(response('200 OK', '[]', 'X-RateLimit-Limit: 60'));
  const { status, headers, body } = await send(url);
  expect([status, headers['x-ratelimit-limit'], Buffer.from(body).toString()]).toEqual([200, '60', '[]']);
  await send(url, POST);
  const common = {
    host: new URL(url).host,
    connection: 'keep-alive',
    authorization: `Bearer ${KEY}`,
    accept: 'application/json',
    'accept-encoding': 'identity',
    'user-agent': 'petstore-cli/1.2.3',
  };
  const ofPost = { ...common, 'content-type': 'application/json', 'content-length': '14' };
  expect(requests).toEqual([
    { method: 'GET', path: '/v1/categories', headers: common, body: '' },
    { method: 'POST', path: '/v1/categories', headers: ofPost, body: '{"name":"dog"}' },
  ]);
});

test('a response is complete although early hints precede it and its connection stays open', async () => {
  const hints = Buffer.from('HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n');
  const bytes = Buffer.concat([hints, response('201 Created', '{}')]);
  const { url } = await serve((socket) => socket.write(bytes));
  const heads: number[] = [];
  const { status, body } = await send(url, POST, { onHead: (head) => void heads.push(head.status) });
  expect([status, Buffer.from(body).toString(), heads]).toEqual([201, '{}', [201]]);
});

test("a response contains the time of its request's first byte and the arrival time of its head", async () => {
  let now = 1000;
  const { url } = await serve((socket) => {
    now = 3000;
    socket.write(response('200 OK', '[]'));
  });
  const beforeSend = (): void => {
    now = 2000;
  };
  const sent = open(url, {}, () => now)(GET, { beforeSend });
  expect(await sent).toMatchObject({ sentAt: 2000, receivedAt: 3000 });
});

test('a request whose connection is never established times out and counts as not sent', async () => {
  // Without a TLS handshake, there is no connection.
  const { port, close } = await startTcpServer(() => undefined);
  onTestFinished(close);
  const sent = send(`https://127.0.0.1:${port}/v1`, POST, { timeoutMs: 200 });
  await expect(sent).rejects.toMatchObject({ reason: 'timeout', requestSent: false });
});

// Idle connections are not reused after half a second, because the service may close them while a create is sent.
const CREATED = response('201 Created', '{"id":1,"name":"x"}');
const pause = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms));

test('20 sequential requests use two connections, and a request more than half a second later opens a third', async () => {
  const { url, connections } = await serve((socket) => socket.write(CREATED));
  const create = open(url);
  useFakeTimers();
  for (let n = 0; n < 20; n++) await create(POST);
  // undici frees a connection one turn of the event loop after its response, so an early request opens a second one.
  expect(connections()).toBe(2);
  vi.advanceTimersByTime(600);
  await create(POST);
  expect(connections()).toBe(3);
});

test('of 20 sequential creates, at most two are lost if the service closes each connection that is reused', async () => {
  const used = new Set<Socket>();
  const isNew = (socket: Socket): boolean => used.size < used.add(socket).size;
  const create = open((await serve((socket) => (isNew(socket) ? socket.write(CREATED) : socket.destroy()))).url);
  let lost = 0;
  for (let n = 0; n < 20; n++) await create(POST).catch(() => lost++);
  expect(lost).toBeLessThanOrEqual(2);
});

test('the error of an aborted attempt states whether the request was sent', async () => {
  const abort = new AbortController();
  const { url } = await serve(() => abort.abort());
  for (const requestSent of [true, false]) {
    await expect(send(url, POST, { signal: abort.signal })).rejects.toMatchObject({ reason: 'aborted', requestSent });
  }
});

const head = (status: string): string => `HTTP/1.1 ${status}\r\n\r\n`;
const large = (status: string, mebibytes: number): string => head(status) + ' '.repeat(mebibytes << 20);

test('a response of 64 MiB is read, and a larger one is an error', async () => {
  const error = { reason: 'too-large', message: 'the response is larger than 64 MiB', head: { status: 201 } };
  await expect(send((await responding(large('201 Created', 65))).url, POST)).rejects.toMatchObject(error);
  expect((await send((await responding(large('200 OK', 64))).url)).body).toHaveLength(64 << 20);
});

test('a response of half a million one-byte chunks is read with a heap of 24 MB', async () => {
  const chunks = `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${'1\r\n \r\n'.repeat(500_000)}0\r\n\r\n`;
  const { url } = await serve((socket) => socket.write(chunks));
  const script = `
    const [module, baseUrl, request] = process.argv.slice(1);
    const { createTransport } = (await import(module)).default;
    const transport = createTransport({ baseUrl, key: '${KEY}', version: '1', env: {}, now: Date.now });
    const how = { timeoutMs: 30000, signal: new AbortController().signal };
    console.log((await transport.send(JSON.parse(request), how)).body.length);`;
  // A heap of 24 MB would not hold the chunks as half a million buffers.
  const options = ['--max-old-space-size=24', '--input-type=module', '-e', script];
  const args = [...options, compile('src/http/transport.ts'), url, JSON.stringify(GET)];
  expect((await promisify(execFile)(process.execPath, args)).stdout).toBe('500000\n');
});

test('only the first 1 to 2 MiB of an error body are read', async () => {
  const { status, body } = await send((await responding(large('503 Unavailable', 3))).url);
  expect([status, body.length >= 1 << 20, body.length < 2 << 20]).toEqual([503, true, true]);
});

test.each([
  ['a 400 whose body stalls counts as complete', 'stalled', '400 Bad', 'complete'],
  ['a 400 whose body is lost counts as complete', 'lost', '400 Bad', 'complete'],
  ['a 201 whose body stalls times out', 'stalled', '201 Created', 'timeout'],
  ['a 302 whose body is lost counts as a connection reset', 'lost', '302 Found', 'reset'],
])('%s', async (_title, what, line, reason) => {
  const { url } = await serve((socket) => {
    socket.write(`${head(`${line}\r\nContent-Length: 99`)}{`);
    if (what === 'lost') socket.destroySoon();
  });
  const status = Number.parseInt(line, 10);
  const result = await send(url, POST, what === 'stalled' ? timeoutAfterHead() : {}).catch((error: unknown) => error);
  expect(result).toMatchObject(reason === 'complete' ? { status } : { reason, head: { status } });
});

test('requests leave no listener on a signal that they share', async () => {
  const { signal } = new AbortController();
  const ok = await responding(response('200 OK', '[]'));
  await send(ok.url, GET, { signal });
  await expect(send((await responding('')).url, GET, { signal })).rejects.toThrow();
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});

test('an abort while the body of an error response arrives interrupts the request', async () => {
  const abort = new AbortController();
  const { url } = await serve((socket) => socket.write(`${head('404 Missing')}{`));
  const sent = send(url, GET, { signal: abort.signal, onHead: () => abort.abort() });
  await expect(sent).rejects.toMatchObject({ reason: 'aborted', head: { status: 404 } });
});

test('the values of a repeated header are joined, and equal values count once', async () => {
  const repeated = ['Retry-After: 5', 'Retry-After: 5 ', 'X-RateLimit-Reset: 5', 'X-RateLimit-Reset: 9'];
  const { headers } = await send((await responding(response('200 OK', '[]', ...repeated))).url);
  expect(headers).toMatchObject({ 'retry-after': '5', 'x-ratelimit-reset': '5, 9' });
});

test('an attempt whose `beforeSend` throws sends nothing, and the next attempt uses its connection', async () => {
  const { url, requests, connections } = await serve((socket) => socket.write(CREATED));
  const create = open(url);
  const reason = new Error('no longer granted');
  const beforeSend = (): void => {
    throw reason;
  };
  await expect(create(POST, { beforeSend })).rejects.toBe(reason);
  await create(POST);
  expect([connections(), requests.length]).toEqual([1, 1]);
});

test.each([
  ['ENOTFOUND', 'before', 'connect', 'host not found'],
  ['EAI_FAIL', 'before', 'connect', 'host not found'],
  ['EPIPE', 'before', 'reset', 'the connection closed before a response arrived'],
  ['EAI_AGAIN', 'before', 'connect', 'name resolution is unavailable'],
  ['ENETUNREACH', 'before', 'connect', 'network is unreachable'],
  ['ENETUNREACH', 'after', 'reset', 'the connection closed before a response arrived'],
  ['ETIMEDOUT', 'before', 'connect', 'the connection timed out'],
  ['ERR_ODD', 'before', 'connect', 'the connection failed (ERR_ODD)'],
  ['CERT_HAS_EXPIRED', 'before', 'tls', 'the certificate has expired'],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'before', 'tls', 'the certificate is for another host name'],
  ['SELF_SIGNED_CERT_IN_CHAIN', 'before', 'tls', 'the certificate is not trusted'],
  ['EPROTO', 'before', 'tls', 'the TLS handshake failed'],
])('the error %s %s a request is sent is reported as "%s" with the message "%s"', (code, when, reason, message) => {
  const requestSent = when === 'after';
  const thrown = Object.assign(new Error('connect'), { code });
  expect(toTransportError(thrown, requestSent)).toMatchObject({ reason, requestSent, message });
});

const INVALID = 'the service sent an invalid HTTP response';
const NO_RESPONSE = 'the connection closed before a response arrived';
const HALF = 'the connection closed before the response was complete';
const SSH = 'SSH-2.0-OpenSSH_9.6\r\n\r\n';
const HUGE_HEAD = response('200 OK', '[]', `X-Huge: ${'x'.repeat(300_000)}`);

test.each([
  ['two content lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 99\r\n\r\n[]', 'protocol', INVALID],
  [
    'a hundred "100 Continue" heads',
    `${'HTTP/1.1 100 Continue\r\n\r\n'.repeat(100)}HTTP/1.1 200 OK\r\n\r\n`,
    'protocol',
    INVALID,
  ],
  ['no status line', SSH, 'protocol', INVALID],
  ['a huge header', HUGE_HEAD, 'too-large', 'the headers of the response are too large'],
  ['a bad chunk', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n[]', 'protocol', INVALID],
  ['half a head', 'HTTP/1.1 200 OK\r\nContent-Ty', 'reset', NO_RESPONSE],
])('a response with %s causes an error', async (_what, bytes, reason, message) => {
  await expect(send((await responding(bytes)).url)).rejects.toMatchObject({ reason, requestSent: true, message });
});

test.each([
  ['before its body', 'Content-Length: 99', ''],
  ['in a body of known length', 'Content-Length: 99', '['],
  ['in a chunk', 'Transfer-Encoding: chunked', '400\r\n[]'],
  ['after a chunk', 'Transfer-Encoding: chunked', '2\r\n[]\r\n'],
])('a response cut off %s counts as a reset, on a reused or a new connection', async (_where, header, body) => {
  for (const end of ['destroySoon', 'resetAndDestroy'] as const) {
    let cutOff = (): unknown => undefined;
    const { url, requests, connections } = await serve((socket) => {
      cutOff = () => socket[end]();
      const start = `HTTP/1.1 200 OK\r\nConnection: ${requests.at(-1)?.headers.connection}\r\n`;
      socket.write(requests.length === 1 ? response('200 OK', '[]') : `${start}${header}\r\n\r\n${body}`);
    });
    const attempt = open(url);
    await attempt();
    // undici frees a connection one turn of the event loop after its response.
    await pause(1);
    for (let attempts = 0; attempts < 3; attempts++) {
      const lost = attempt(GET, { onHead: () => cutOff() }).catch((error: unknown) => error);
      expect(await lost).toMatchObject({ reason: 'reset', requestSent: true, message: HALF, head: { status: 200 } });
    }
    expect(requests.map(({ headers }) => headers.connection)).toEqual(['keep-alive', 'keep-alive', 'close', 'close']);
    expect(connections()).toBe(3);
  }
});

const sendThrough = (HTTPS_PROXY: string) => send('https://pets.example/v1', POST, {}, { HTTPS_PROXY });

const LOGIN = 'set HTTPS_PROXY to http://USER:PASSWORD@HOST:PORT';
const ASK = 'ask the operator of the proxy to allow this host';
const LATER = 'try again later';

test.each<[string, bytes: string | undefined, string, string, hint?: string]>([
  ['refuses connections', undefined, 'proxy', 'cannot connect to proxy HOST: connection refused'],
  ['responds with a 407', head('407 No'), 'proxy-auth', 'proxy HOST requires a user name and password (407)', LOGIN],
  ['responds with a 403', head('403 No'), 'proxy-refused', 'proxy HOST denies access to pets.example (403)', ASK],
  ['responds with a 404', head('404 No'), 'proxy-refused', 'proxy HOST rejected the connection (404 Not Found)'],
  [
    'responds with a 502',
    head('502 No'),
    'proxy',
    'proxy HOST could not connect to pets.example (502 Bad Gateway)',
    LATER,
  ],
  ['responds with a 599', head('599 \u001b[31mOdd'), 'proxy', 'proxy HOST could not connect to pets.example (599)'],
  ['closes the connection', '', 'proxy', 'cannot connect to proxy HOST: it closed the connection'],
  ['does not speak HTTP', SSH, 'proxy', 'cannot connect to proxy HOST: it sent an invalid HTTP response'],
])('if a proxy %s, the error names the proxy', async (_what, bytes, reason, problem, hint = 'correct HTTPS_PROXY') => {
  const host = bytes === undefined ? '127.0.0.1:9' : new URL((await responding(bytes)).url).host;
  const error = { reason, requestSent: false, message: problem.replace('HOST', host), hint };
  await expect(sendThrough(`http://${host}`)).rejects.toMatchObject(error);
});

test('a rejected proxy password is sent once, percent-decoded, and does not appear in the error', async () => {
  const { url, requests } = await responding(head('407 No'));
  const { host } = new URL(url);
  const error = await sendThrough(`http://me:hun%40ter%2@${host}`).catch((thrown: Error) => thrown);
  expect(error).toMatchObject({ message: `proxy ${host} rejected the user name or password (407)` });
  const sent = `Basic ${Buffer.from('me:hun@ter%2').toString('base64')}`;
  expect(requests.map(({ headers }) => headers['proxy-authorization'])).toEqual([sent]);
  expect(JSON.stringify(error) + (error as Error).stack).not.toMatch(/hun(%40|@)ter/);
});
