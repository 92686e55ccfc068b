// The built program over TLS, directly and through a proxy.
import { writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { createServer as createHttp } from 'node:http';
import type { AddressInfo } from 'node:net';
import { connect } from 'node:net';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import type { FakeResponse, HttpFake, ReceivedRequest } from '../support/http-fake.ts';
import { startHttpFake } from '../support/http-fake.ts';
import { place } from '../support/processes.ts';
import { petstore } from '../support/program.ts';
import { tempDir } from '../support/temp-dir.ts';
import { EXPIRED_CERT, OTHER_CERT, TEST_CERT, TEST_KEY } from '../support/tls.ts';

const KEY = 'k_0123456789abcdef';
const certificate = join(tempDir(), 'ca.pem');
writeFileSync(certificate, TEST_CERT);

let service: HttpFake;
// A CONNECT proxy whose tunnels all lead to the service; it rejects one host.
const tunnels: IncomingMessage[] = [];
const proxy = createHttp().on('connect', (request: IncomingMessage, socket) => {
  tunnels.push(request);
  if (request.url === 'closed.example:443') return void socket.end('HTTP/1.1 407 Not You\r\n\r\n');
  const upstream = connect(service.port, '127.0.0.1', () => {
    socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
    upstream.pipe(socket).pipe(upstream);
  });
  for (const end of [upstream, socket]) end.on('error', () => undefined);
});
let proxyPort = 0;

beforeAll(async () => {
  const good = { body: [{ id: 1, name: 'dog' }] };
  const respond = ({ headers }: ReceivedRequest): FakeResponse =>
    headers.authorization === `Bearer ${KEY}` ? good : { status: 401 };
  service = await startHttpFake(respond, { key: TEST_KEY, cert: TEST_CERT });
  await new Promise<void>((done) => proxy.listen(0, '127.0.0.1', done));
  proxyPort = (proxy.address() as AddressInfo).port;
  return () => {
    service.close();
    proxy.close();
  };
});

const trusting = (more: Record<string, string>): ReturnType<typeof place> =>
  place({ NODE_EXTRA_CA_CERTS: certificate, PETSTORE_API_KEY: KEY, ...more });

type Checks = readonly { readonly id: string; readonly status: string; readonly detail: string }[];

async function doctor(
  at: ReturnType<typeof place>,
): Promise<{ code: number | null; status: Record<string, string>; text: string }> {
  const { code, out } = await petstore(at, ['doctor', '--json']);
  const checks = JSON.parse(out) as Checks;
  return { code, status: Object.fromEntries(checks.map(({ id, status }) => [id, status])), text: out };
}

test('a list and doctor succeed at a service with a trusted certificate', async () => {
  const at = trusting({ PETSTORE_BASE_URL: service.url });
  expect(await petstore(at, ['categories', 'list', '--json'])).toMatchObject({
    code: 0,
    out: '[{"id":1,"name":"dog"}]\n',
  });
  const { code, status } = await doctor(at);
  expect([code, status['connection'], status['api_key']]).toEqual([0, 'ok', 'ok']);
});

test('petstore authenticates to a proxy without sending it the API key, and bypasses it for a host in NO_PROXY', async () => {
  const at = trusting({
    PETSTORE_BASE_URL: 'https://pets.example/v1',
    HTTPS_PROXY: `http://me:hunter2@127.0.0.1:${proxyPort}`,
  });
  const listed = await petstore(at, ['categories', 'list', '--json']);
  expect(listed).toMatchObject({ code: 0, out: '[{"id":1,"name":"dog"}]\n' });
  const [request] = tunnels;
  expect([request?.url, request?.headers['proxy-authorization']]).toEqual([
    'pets.example:443',
    `Basic ${Buffer.from('me:hunter2').toString('base64')}`,
  ]);
  expect(JSON.stringify(tunnels.map(({ headers }) => headers))).not.toContain(KEY);
  const { code, status } = await doctor(at);
  expect([code, status['proxy'], status['api_key']]).toEqual([0, 'ok', 'ok']);
  const before = tunnels.length;
  const direct = { ...at, env: { ...at.env, NO_PROXY: 'pets.example' } };
  expect((await petstore(direct, ['categories', 'list', '--max-retries', '0', '--timeout', '5s'])).code).toBe(6);
  expect(tunnels).toHaveLength(before);
});

test('NODE_TLS_REJECT_UNAUTHORIZED=0 does not make petstore trust a certificate', async () => {
  const before = service.requests.length;
  const env = { PETSTORE_BASE_URL: service.url, PETSTORE_API_KEY: KEY, NODE_TLS_REJECT_UNAUTHORIZED: '0' };
  const { code, err } = await petstore(place(env), ['categories', 'list']);
  expect([code, err]).toEqual([6, expect.stringContaining('the certificate is not trusted\n')]);
  expect(service.requests).toHaveLength(before);
});

test('a create through a proxy is sent once, even if its response is invalid', async () => {
  const at = trusting({
    PETSTORE_BASE_URL: 'https://pets.example/v1',
    HTTPS_PROXY: `http://127.0.0.1:${proxyPort}`,
  });
  const before = tunnels.length;
  // The response is a list instead of a category, so the outcome is unknown.
  expect((await petstore(at, ['categories', 'create', '--name', 'dog'])).code).toBe(8);
  expect(tunnels).toHaveLength(before + 1);
});

test('a proxy that rejects the password causes exit code 3 after one attempt, and the error names it', async () => {
  const host = `127.0.0.1:${proxyPort}`;
  const at = trusting({ PETSTORE_BASE_URL: 'https://closed.example/v1', HTTPS_PROXY: `http://me:hunter2@${host}` });
  const before = tunnels.length;
  const { code, err } = await petstore(at, ['categories', 'list']);
  expect([code, tunnels.length - before]).toEqual([3, 1]);
  expect(err).toBe(
    `error: proxy ${host} rejected its user name or password (407)\nhint: set HTTPS_PROXY to http://USER:PASSWORD@HOST:PORT\n`,
  );
});

test.each([
  ['has expired', EXPIRED_CERT],
  ['is for another host name', OTHER_CERT],
  ['is not trusted', ''],
])('doctor reports that a certificate %s', async (problem, cert) => {
  const server = await startHttpFake(() => ({ body: [] }), { key: TEST_KEY, cert: cert || TEST_CERT });
  const ca = join(tempDir(), 'ca.pem');
  writeFileSync(ca, cert || OTHER_CERT);
  const at = trusting({ PETSTORE_BASE_URL: server.url, NODE_EXTRA_CA_CERTS: ca });
  const { code, text } = await doctor(at);
  server.close();
  expect([code, server.requests]).toEqual([6, []]);
  expect(JSON.parse(text)).toContainEqual(
    expect.objectContaining({
      id: 'connection',
      status: 'failed',
      detail: expect.stringMatching(`the certificate ${problem} \\(TLS\\)$`),
    }),
  );
});
