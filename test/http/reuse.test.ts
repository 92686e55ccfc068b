// Connections are reused only if that cannot make the outcome of a create unknown.
import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { createTransport } from '../../src/http/transport.ts';

const POST = { method: 'POST', path: '/categories', body: '{}', safe: false };

async function serve(onSent: (socket: Socket) => void = () => undefined, headers: Record<string, string> = {}) {
  let connections = 0;
  const server = createServer((request, response) => {
    request
      .resume()
      .on('end', () => response.writeHead(201, headers).end('{"id":1,"name":"x"}', () => onSent(request.socket)));
  }).on('connection', () => connections++);
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  const transport = createTransport({
    baseUrl,
    key: 'k',
    version: '1',
    env: {},
    now: Date.now,
  });
  onTestFinished(async () => {
    await transport.close();
    server.closeAllConnections();
    server.close();
  });
  const signal = new AbortController().signal;
  return { send: () => transport.send(POST, { timeoutMs: 5000, signal }), connections: () => connections };
}
const pause = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms));

test('20 sequential requests use two connections, and a request after half a second opens a third', async () => {
  const { send, connections } = await serve();
  for (let n = 0; n < 20; n++) await send();
  // undici frees a connection one turn of the event loop after its response, so an early request opens a second one.
  expect(connections()).toBe(2);
  await pause(600);
  await send();
  expect(connections()).toBe(3);
});

test('each request has its own connection after `Connection: close`', async () => {
  const { send, connections } = await serve(() => undefined, { connection: 'close' });
  for (let n = 0; n < 5; n++) await send();
  expect(connections()).toBe(5);
});

test('a connection is not reused after half a second even if the timer fires late', async () => {
  const { send, connections } = await serve();
  await send();
  const until = performance.now() + 700;
  while (performance.now() < until);
  await send();
  expect(connections()).toBe(2);
});

test.each([0, 3, 20])(
  'at most one request is lost if the service closes each connection without notice %i ms after a response',
  async (ms) => {
    const { send } = await serve((socket) => void setTimeout(() => socket.destroy(), ms));
    let lost = 0;
    for (let n = 0; n < 30; n++) {
      await send().catch(() => lost++);
      await pause(n % 4);
    }
    expect(lost).toBeLessThanOrEqual(1);
  },
);
