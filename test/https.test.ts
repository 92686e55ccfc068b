// The built program over TLS: to a service whose certificate is good, and to one behind a proxy.
import { writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { createServer as createHttp } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo, Server } from 'node:net';
import { connect } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { petstore, place } from './support/program.ts';
import { tempDir } from './support/temp-dir.ts';
import { TEST_CERT, TEST_KEY } from './support/tls.ts';

const KEY = 'k_0123456789abcdef';
const certificate = join(tempDir(), 'ca.pem');
writeFileSync(certificate, TEST_CERT);

const service = createServer({ key: TEST_KEY, cert: TEST_CERT }, (request, response) => {
  const good = request.headers.authorization === `Bearer ${KEY}`;
  response.writeHead(good ? 200 : 401).end(good ? '[{"id":1,"name":"dog"}]' : '{}');
});
// A CONNECT proxy that knows one way only: to the service above.
const asked: IncomingMessage[] = [];
const proxy = createHttp().on('connect', (request: IncomingMessage, socket) => {
  asked.push(request);
  const way = connect((service.address() as AddressInfo).port, '127.0.0.1', () => {
    socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
    way.pipe(socket).pipe(way);
  });
  for (const end of [way, socket]) end.on('error', () => undefined);
});

const portOf = (server: Server): number => (server.address() as AddressInfo).port;

beforeAll(async () => {
  for (const server of [service, proxy]) await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
});
afterAll(() => {
  for (const server of [service, proxy]) server.close();
});

const trusting = (more: Record<string, string>): ReturnType<typeof place> =>
  place({ NODE_EXTRA_CA_CERTS: certificate, PETSTORE_API_KEY: KEY, ...more });

interface Checks {
  readonly checks: readonly { readonly name: string; readonly status: string; readonly detail: string }[];
}

async function doctor(
  at: ReturnType<typeof place>,
): Promise<{ code: number | null; status: Record<string, string>; text: string }> {
  const { code, out } = await petstore(at, ['doctor', '--json']);
  const { checks } = JSON.parse(out) as Checks;
  return { code, status: Object.fromEntries(checks.map(({ name, status }) => [name, status])), text: out };
}

test('a service with a good certificate is listed, and the doctor finds nothing wrong', async () => {
  const at = trusting({ PETSTORE_BASE_URL: `https://localhost:${portOf(service)}/v1` });
  expect(await petstore(at, ['categories', 'list', '--json'])).toMatchObject({
    code: 0,
    out: '[{"id":1,"name":"dog"}]\n',
  });
  const { code, status, text } = await doctor(at);
  expect([code, status['TLS'], status['Key accepted']]).toEqual([0, 'ok', 'ok']);
  expect(text).toMatch(/TLSv1\.[23], certificate good until \w+ .*GMT/);
});

test('a service behind a proxy is reached through it, with its password and without the key', async () => {
  const at = trusting({
    PETSTORE_BASE_URL: 'https://pets.example/v1',
    HTTPS_PROXY: `http://me:hunter2@127.0.0.1:${portOf(proxy)}`,
  });
  const listed = await petstore(at, ['categories', 'list', '--json']);
  expect(listed).toMatchObject({ code: 0, out: '[{"id":1,"name":"dog"}]\n' });
  const [request] = asked;
  expect([request?.url, request?.headers['proxy-authorization']]).toEqual([
    'pets.example:443',
    `Basic ${Buffer.from('me:hunter2').toString('base64')}`,
  ]);
  expect(JSON.stringify(asked.map(({ headers }) => headers))).not.toContain(KEY);
  const { code, status } = await doctor(at);
  expect([code, status['Proxy'], status['Key accepted']]).toEqual([0, 'ok', 'ok']);
  const before = asked.length;
  const direct = { ...at, env: { ...at.env, NO_PROXY: 'pets.example' } };
  expect((await petstore(direct, ['categories', 'list', '--max-retries', '0', '--timeout', '5s'])).code).toBe(6);
  expect(asked).toHaveLength(before);
});

test('a create goes through a proxy once', async () => {
  const at = trusting({
    PETSTORE_BASE_URL: 'https://pets.example/v1',
    HTTPS_PROXY: `http://127.0.0.1:${portOf(proxy)}`,
  });
  const before = asked.length;
  // The service answers with a list: that is no category, so the outcome is unknown, and nothing is sent again.
  expect((await petstore(at, ['categories', 'create', '--name', 'dog'])).code).toBe(8);
  expect(asked).toHaveLength(before + 1);
});
