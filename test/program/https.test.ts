// The built program over TLS, directly and through a proxy.
import { writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { createServer as createHttp } from 'node:http';
import type { AddressInfo } from 'node:net';
import { connect } from 'node:net';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import type { HttpFake } from '../support/http-fake.ts';
import { startHttpFake } from '../support/http-fake.ts';
import type { Place } from '../support/processes.ts';
import { KEY, petstore, savedPlace } from '../support/program.ts';
import { tempDir } from '../support/temp-dir.ts';
import { TEST_CERT, TEST_KEY } from '../support/tls.ts';

const LIST = ['categories', 'list', '--json'];
const LISTED = { code: 0, out: '[{"id":1,"name":"dog"}]\n', err: '' };
const certificate = join(tempDir(), 'ca.pem');
writeFileSync(certificate, TEST_CERT);

let service: HttpFake;
// A CONNECT proxy whose tunnels all lead to the service.
const tunnels: IncomingMessage[] = [];
const proxy = createHttp().on('connect', (request: IncomingMessage, socket) => {
  tunnels.push(request);
  const upstream = connect(service.port, '127.0.0.1', () => {
    socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
    upstream.pipe(socket).pipe(upstream);
  });
  for (const end of [upstream, socket]) end.on('error', () => undefined);
});
let proxyHost: string;

beforeAll(async () => {
  const good = { body: [{ id: 1, name: 'dog' }] };
  service = await startHttpFake(({ headers }) => (headers.authorization === `Bearer ${KEY}` ? good : { status: 401 }), {
    key: TEST_KEY,
    cert: TEST_CERT,
  });
  await new Promise<void>((done) => proxy.listen(0, '127.0.0.1', done));
  proxyHost = `127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  return () => {
    service.close();
    proxy.close();
  };
});

const trusting = (url: string, env: Record<string, string> = {}): Place =>
  savedPlace(url, { NODE_EXTRA_CA_CERTS: certificate, ...env });

test('a list succeeds at a service with a trusted certificate', async () => {
  expect(await petstore(trusting(service.url), LIST)).toEqual(LISTED);
});

test('petstore authenticates to a proxy without sending it the API key, and bypasses it for a host in NO_PROXY', async () => {
  const here = trusting('https://pets.example/v1', { HTTPS_PROXY: `http://me:hunter2@${proxyHost}` });
  expect(await petstore(here, LIST)).toEqual(LISTED);
  expect(await petstore(here, ['doctor'])).toMatchObject({ code: 0, err: '' });
  const authorization = `Basic ${Buffer.from('me:hunter2').toString('base64')}`;
  expect(tunnels[0]).toMatchObject({ url: 'pets.example:443', headers: { 'proxy-authorization': authorization } });
  expect(JSON.stringify(tunnels.map(({ headers }) => headers))).not.toContain(KEY);
  const before = tunnels.length;
  const direct = { ...here, env: { ...here.env, NO_PROXY: 'pets.example' } };
  expect((await petstore(direct, [...LIST, '--max-retries', '0', '--timeout', '5s'])).code).toBe(6);
  expect(tunnels).toHaveLength(before);
});

test('NODE_TLS_REJECT_UNAUTHORIZED=0 does not make petstore trust a certificate', async () => {
  const before = service.requests.length;
  const here = savedPlace(service.url, { NODE_TLS_REJECT_UNAUTHORIZED: '0' });
  for (const args of [['categories', 'list'], ['doctor']]) {
    const { code, out, err } = await petstore(here, args);
    expect([code, out + err]).toEqual([6, expect.stringContaining('the certificate is not trusted')]);
  }
  expect(service.requests).toHaveLength(before);
});

test.each(['unknown.example', '192.0.2.1'])('a proxy that leads %s to another host is an error', async (host) => {
  const here = trusting(`https://${host}/v1`, { HTTPS_PROXY: `http://${proxyHost}` });
  const { code, err } = await petstore(here, ['categories', 'create', '--name', 'dog', '--max-retries', '0']);
  expect(code).toBe(6);
  expect(err).toContain(`cannot connect to ${host}: the certificate is for another host name`);
});
