// Connections are reused only if that cannot make the outcome of a create unknown.
import type { Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { createTransport } from '../../src/http/transport.ts';
import { startHttpFake } from '../support/http-fake.ts';
import { response } from '../support/raw-server.ts';

const POST = { method: 'POST', path: '/categories', body: '{}', safe: false };
const CREATED = response('201 Created', '{"id":1,"name":"x"}');

async function serve(onSent: (socket: Socket) => void = () => undefined) {
  const server = await startHttpFake(() => (socket) => void socket.write(CREATED, () => onSent(socket)));
  const transport = createTransport({ baseUrl: server.url, key: 'k', version: '1', env: {}, now: Date.now });
  onTestFinished(async () => {
    await transport.close();
    server.close();
  });
  const how = { timeoutMs: 5000, signal: new AbortController().signal };
  return { send: () => transport.send(POST, how), connections: server.connections };
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
