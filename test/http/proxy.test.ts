// The choice of the proxy, by the rules of curl, and the errors of failing proxies.
import { createServer as createHttp } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { proxyFor } from '../../src/http/proxy.ts';
import { createTransport } from '../../src/http/transport.ts';
import type { TransportError } from '../../src/http/types.ts';
import { startRawServer } from '../support/raw-server.ts';

const proxy = (url: string, env: Record<string, string>): string => proxyFor(new URL(url), env)?.href ?? 'no proxy';
const HTTPS_PROXY = 'http://proxy.example:3128';
const USED = 'http://proxy.example:3128/';

test.each([
  ['https://pets.example/v1', {}, 'no proxy'],
  ['https://pets.example/v1', { HTTPS_PROXY }, USED],
  ['https://pets.example/v1', { https_proxy: 'proxy.example:8080' }, 'http://proxy.example:8080/'],
  ['https://pets.example/v1', { HTTP_PROXY: HTTPS_PROXY }, 'no proxy'],
  ['https://127.0.0.1:1/v1', { HTTPS_PROXY }, 'no proxy'],
  ['https://[::1]:1/v1', { HTTPS_PROXY }, 'no proxy'],
  ['http://localhost:1/v1', { HTTP_PROXY: HTTPS_PROXY }, 'no proxy'],
  ['https://pets.example/v1', { HTTPS_PROXY: ' ' }, 'no proxy'],
])('a request to %s with %j uses %s', (url, env, expected) => {
  expect(proxy(url, env)).toBe(expected);
});

test.each([
  ['pets.example', 'pets.example', 'no proxy'],
  ['pets.example', 'PETS.example.', 'no proxy'],
  ['api.pets.example', '.pets.example', 'no proxy'],
  ['pets.example', '.pets.example', 'no proxy'],
  ['api.pets.example', 'a.b, pets.example', 'no proxy'],
  ['otherpets.example', 'pets.example', USED],
  ['pets.example', '*', 'no proxy'],
  ['pets.example:8443', 'pets.example:8443', 'no proxy'],
  ['pets.example:8443', 'pets.example:9000', USED],
  ['pets.example', 'pets.example:80', USED],
  ['10.1.2.3', '10.1.2.3', 'no proxy'],
  ['10.1.2.3', '2.3', USED],
  ['[fd00::12]', 'fd00::12', 'no proxy'],
  ['[fd00::12]:8443', '[fd00::12]:8443', 'no proxy'],
])('a request to https://%s with NO_PROXY=%j uses %s', (host, exceptions, expected) => {
  expect(proxy(`https://${host}/v1`, { HTTPS_PROXY, NO_PROXY: exceptions })).toBe(expected);
});

test.each([
  ['socks5://proxy.example', 'HTTPS_PROXY is not an http or https URL'],
  ['http://', 'HTTPS_PROXY is not an http or https URL'],
  ['http://[', 'HTTPS_PROXY is not an http or https URL'],
  ['http://127.0.0.1:9/path', 'HTTPS_PROXY must not contain a path'],
  ['http://127.0.0.1:9?query', 'HTTPS_PROXY must not contain a path'],
])('the HTTPS_PROXY %s is a usage error', (value, message) => {
  expect(() => proxy('https://pets.example/v1', { HTTPS_PROXY: value })).toThrow(
    expect.objectContaining({ kind: 'usage', message, hint: 'use a URL such as http://proxy.example:3128' }),
  );
});

test('a proxy password with an invalid percent-encoding causes a usage error that does not show it', () => {
  expect(() => proxy('https://pets.example/v1', { HTTPS_PROXY: 'http://u:100%pw@proxy.example:3128' })).toThrow(
    expect.objectContaining({ kind: 'usage', message: expect.not.stringContaining('100') }),
  );
});

/** Starts a proxy with a handler of CONNECT requests and returns its host. */
async function startProxy(onConnect: (socket: Socket, authorization: string | undefined) => void): Promise<string> {
  const server = createHttp().on('connect', ({ headers }, socket) =>
    onConnect(socket as Socket, headers['proxy-authorization']),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function failure(host: string, credentials = ''): Promise<TransportError> {
  const transport = createTransport({
    baseUrl: 'https://pets.example/v1',
    key: 'sk_test_0123456789',
    version: '1',
    env: { HTTPS_PROXY: `http://${credentials}${host}` },
    now: () => 7,
  });
  const request = { method: 'POST', path: '/categories', body: '{}', safe: false };
  return transport.send(request, { timeoutMs: 20_000, signal: new AbortController().signal }).then(
    () => expect.unreachable('it succeeded'),
    (error) => error as TransportError,
  );
}

const respond = (status: string) => (socket: Socket) => void socket.end(`HTTP/1.1 ${status}\r\n\r\n`);

test.each([
  ['407 Proxy Authentication Required', 'proxy-auth', 'requires a user name and password (407)'],
  ['403 Forbidden', 'proxy-refused', 'rejected the connection (403 Forbidden)'],
  ['502 Bad Gateway', 'proxy', 'could not connect (502 Bad Gateway)'],
  ['599 \u001b[31mOdd', 'proxy', 'could not connect (599)'],
])('a proxy that responds %j is named in the error', async (status, reason, problem) => {
  const host = await startProxy(respond(status));
  expect(await failure(host)).toMatchObject({ reason, requestSent: false, detail: `proxy ${host} ${problem}` });
});

test('a rejected proxy password is sent once, decoded, and never shown', async () => {
  const received: (string | undefined)[] = [];
  const host = await startProxy((socket, authorization) => {
    received.push(authorization);
    respond('407 No')(socket);
  });
  const error = await failure(host, 'me:hun%40ter2@');
  expect(error.detail).toBe(`proxy ${host} rejected its user name or password (407)`);
  expect(received).toEqual([`Basic ${Buffer.from('me:hun@ter2').toString('base64')}`]);
  expect(JSON.stringify(error) + error.stack).not.toMatch(/hun(%40|@)ter2/);
});

test.each([
  ['closes the connection', (socket: Socket) => void socket.end()],
  ['resets the connection', (socket: Socket) => void socket.resetAndDestroy()],
])(
  'a request through a proxy that %s on CONNECT fails with an error that names the proxy',
  async (_what, onConnect) => {
    const host = await startProxy(onConnect);
    expect(await failure(host)).toMatchObject({ reason: 'proxy', detail: expect.stringContaining(`proxy ${host}`) });
  },
);

test('a request through a proxy that does not speak HTTP fails with an error that names the proxy', async () => {
  const server = await startRawServer({ onConnect: (socket) => Boolean(socket.end('SSH-2.0-OpenSSH_9.2\r\n')) });
  onTestFinished(server.close);
  const host = `127.0.0.1:${server.port}`;
  const detail = expect.stringContaining(`cannot connect to proxy ${host}: `);
  expect(await failure(host)).toMatchObject({ reason: 'proxy', requestSent: false, detail });
});

test('a proxy that refuses connections is named in the error', async () => {
  const detail = 'cannot connect to proxy 127.0.0.1:9: connection refused';
  expect(await failure('127.0.0.1:9')).toMatchObject({ reason: 'proxy', detail });
});
