// The choice of the proxy, by the rules of curl, and the errors of failing proxies.

import type { Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { proxyFor } from '../../src/http/proxy.ts';
import { createTransport } from '../../src/http/transport.ts';
import type { TransportError } from '../../src/http/types.ts';
import { startHttpFake } from '../support/http-fake.ts';

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
  ['api.pets.example', 'a.b, pets.example', 'no proxy'],
  ['otherpets.example', 'pets.example', USED],
  ['pets.example', '*', 'no proxy'],
  ['pets.example:8443', 'pets.example:8443', 'no proxy'],
  ['pets.example', 'pets.example:443', 'no proxy'],
  ['pets.example', 'pets.example:80', USED],
  ['10.1.2.3', '2.3', USED],
  ['[fd00::12]', 'fd00::12', 'no proxy'],
  ['[fd00::12]:8443', '[fd00::12]:8443', 'no proxy'],
])('a request to https://%s with NO_PROXY=%j uses %s', (host, exceptions, expected) => {
  expect(proxy(`https://${host}/v1`, { HTTPS_PROXY, NO_PROXY: exceptions })).toBe(expected);
});

test.each([
  ...['socks5://proxy.example', 'http://', 'http://['].map((value) => [value, 'is not an http or https URL']),
  ...['http://127.0.0.1:9/path', 'http://127.0.0.1:9?query'].map((value) => [value, 'must not contain a path']),
])('the HTTPS_PROXY %s is a usage error: %s', (value, problem) => {
  const hint = 'use a URL such as http://proxy.example:3128';
  expect(() => proxy('https://pets.example/v1', { HTTPS_PROXY: value ?? '' })).toThrow(
    expect.objectContaining({ kind: 'usage', message: `HTTPS_PROXY ${problem}`, hint }),
  );
});

async function failure(host: string, credentials = ''): Promise<TransportError> {
  const env = { HTTPS_PROXY: `http://${credentials}${host}` };
  const options = { baseUrl: 'https://pets.example/v1', key: 'sk_test_0123456789', version: '1', env, now: () => 7 };
  const request = { method: 'POST', path: '/categories', body: '{}', safe: false };
  const how = { timeoutMs: 20_000, signal: new AbortController().signal };
  return createTransport(options)
    .send(request, how)
    .then(
      () => expect.unreachable('it succeeded'),
      (error) => error as TransportError,
    );
}

async function startProxy(onRequest: (socket: Socket) => void) {
  const server = await startHttpFake(() => onRequest);
  onTestFinished(server.close);
  return { host: `127.0.0.1:${server.port}`, requests: server.requests };
}

const responding = (status: string) => (socket: Socket) => void socket.end(`HTTP/1.1 ${status}\r\n\r\n`);
const ended = 'it closed the connection';

test.each<[string, ((socket: Socket) => void) | undefined, string, string]>([
  ['refuses connections', undefined, 'proxy', 'cannot connect to proxy HOST: connection refused'],
  ['responds 407', responding('407 No'), 'proxy-auth', 'proxy HOST requires a user name and password (407)'],
  ['responds 403', responding('403 No'), 'proxy-refused', 'proxy HOST rejected the connection (403 Forbidden)'],
  ['responds 502', responding('502 No'), 'proxy', 'proxy HOST could not connect (502 Bad Gateway)'],
  ['responds 599', responding('599 \u001b[31mOdd'), 'proxy', 'proxy HOST could not connect (599)'],
  ['ends', (socket) => void socket.end(), 'proxy', `cannot connect to proxy HOST: ${ended}`],
  [
    'does not speak HTTP',
    (socket) => void socket.end('SSH-2.0-OpenSSH_9.2\r\n'),
    'proxy',
    'cannot connect to proxy HOST: the service sent an invalid HTTP response',
  ],
])('the error after a proxy that %s names the proxy', async (_what, onRequest, reason, problem) => {
  const host = onRequest ? (await startProxy(onRequest)).host : '127.0.0.1:9';
  expect(await failure(host)).toMatchObject({ reason, requestSent: false, message: problem.replace('HOST', host) });
});

test('a rejected proxy password is sent once, decoded, and never shown', async () => {
  const { host, requests } = await startProxy(responding('407 No'));
  const error = await failure(host, 'me:hun%40ter%2@');
  expect(error.message).toBe(`proxy ${host} rejected its user name or password (407)`);
  const sent = `Basic ${Buffer.from('me:hun@ter%2').toString('base64')}`;
  expect(requests.map(({ headers }) => headers['proxy-authorization'])).toEqual([sent]);
  expect(JSON.stringify(error) + error.stack).not.toMatch(/hun(%40|@)ter/);
});
