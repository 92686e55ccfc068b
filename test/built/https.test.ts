// The built program over TLS, directly and through a proxy.
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { compile } from '../support/compile.ts';
import { startHttpFake } from '../support/http-fake.ts';
import type { Place } from '../support/processes.ts';
import { BASE_ENV, ended } from '../support/processes.ts';
import { KEY, petstore, savedPlace } from '../support/program.ts';
import { tempDir } from '../support/temp-dir.ts';
import { TEST_CERT, TEST_KEY } from '../support/tls.ts';

const LIST = ['categories', 'list', '--json'];
const LISTED = { code: 0, out: '[{"id":1,"name":"dog"}]\n', err: '' };
const certificate = join(tempDir(), 'ca.pem');
writeFileSync(certificate, TEST_CERT);

const good = { body: [{ id: 1, name: 'dog' }] };
const service = await startHttpFake(
  ({ headers }) => (headers.authorization === `Bearer ${KEY}` ? good : { status: 401 }),
  { key: TEST_KEY, cert: TEST_CERT },
);
afterAll(service.close);
// A CONNECT proxy whose tunnels all lead to the service.
const proxy = await startHttpFake(() => (socket) => {
  const upstream = connect(service.port, '127.0.0.1', () => {
    socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
    upstream.pipe(socket).pipe(upstream);
  });
  upstream.on('error', () => undefined);
});
afterAll(proxy.close);
const proxyHost = new URL(proxy.url).host;
const serviceHost = new URL(service.url).host;
const TRUSTS_ALL = { NODE_TLS_REJECT_UNAUTHORIZED: '0' };

const trusting = (url: string, env: Record<string, string> = {}): Place =>
  savedPlace(url, { NODE_EXTRA_CA_CERTS: certificate, ...env });

test('a list from a service with a trusted certificate succeeds', async () => {
  expect(await petstore(trusting(service.url), LIST)).toEqual(LISTED);
});

test('petstore authenticates to a proxy without sending it the API key', async () => {
  const here = trusting('https://pets.example/v1', { HTTPS_PROXY: `http://me:hunter2@${proxyHost}` });
  expect(await petstore(here, LIST)).toEqual(LISTED);
  expect(await petstore(here, ['doctor'])).toMatchObject({ code: 0, err: '' });
  const authorization = `Basic ${Buffer.from('me:hunter2').toString('base64')}`;
  const tunnel = { path: 'pets.example:443', headers: { 'proxy-authorization': authorization } };
  expect(proxy.requests).toMatchObject([tunnel, tunnel]);
  expect(JSON.stringify(proxy.requests)).not.toContain(KEY);
});

test('a proxy tunnel that was opened in time stays open after the time limit for opening it', async () => {
  const script = `
const { openTunnel } = await import(process.argv[1]);
const socket = await openTunnel({ url: new URL(process.argv[2]) }, { host: 'pets.example', hostname: 'pets.example' }, 1500);
setTimeout(() => socket.write('GET /v1/categories HTTP/1.1\\r\\nHost: pets.example\\r\\n\\r\\n'), 1700);
socket.once('data', (data) => process.stdout.write(data.subarray(0, 12)) && socket.destroy());`;
  const args = ['--input-type=module', '-e', script, compile('src/http/proxy-tunnel.ts'), `http://${proxyHost}`];
  const child = spawn(process.execPath, args, { env: { ...BASE_ENV, NODE_EXTRA_CA_CERTS: certificate } });
  expect(await ended(child)).toMatchObject({ code: 0, out: 'HTTP/1.1 401', err: '' });
});

test.each([
  ['service', () => savedPlace(service.url, TRUSTS_ALL)],
  [
    'service behind a proxy',
    () => savedPlace('https://pets.example/v1', { ...TRUSTS_ALL, HTTPS_PROXY: `http://${proxyHost}` }),
  ],
  [
    'proxy',
    () => savedPlace('https://pets.example/v1', { ...TRUSTS_ALL, HTTPS_PROXY: `https://me:hunter2@${serviceHost}` }),
  ],
])(
  'petstore rejects an untrusted certificate of a %s even with NODE_TLS_REJECT_UNAUTHORIZED=0',
  async (_how, placeOf) => {
    const before = service.requests.length;
    for (const args of [['categories', 'list', '--max-retries', '0'], ['doctor']]) {
      const { code, out, err } = await petstore(placeOf(), args);
      expect([code, out + err]).toEqual([6, expect.stringContaining('the certificate is not trusted')]);
    }
    expect(service.requests).toHaveLength(before);
  },
);

test('a proxy tunnel that leads to another host causes a certificate error', async () => {
  const here = trusting('https://192.0.2.1/v1', { HTTPS_PROXY: `http://${proxyHost}` });
  const { code, err } = await petstore(here, ['categories', 'create', '--name', 'dog', '--max-retries', '0']);
  expect(code).toBe(6);
  expect(err).toContain('cannot connect to 192.0.2.1: the certificate is for another host name');
});
