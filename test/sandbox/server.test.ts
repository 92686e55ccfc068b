// The service of docs/service.md: operations, keys, validation and Error objects.
import { readFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { toResponse } from '../../src/sandbox/response.ts';
import { checkOrigin } from '../../src/sandbox/server.ts';
import { tempDir } from '../support/temp-dir.ts';
import type { CallOptions, SandboxResponse } from './support.ts';
import { dataFileWith, KEY, rawRequest, sendRaw, startTestSandbox } from './support.ts';

function expectError(response: SandboxResponse, status: number, code: string, message = /\w/): void {
  expect(response.status).toBe(status);
  expect(response.json).toEqual({ code, message: expect.stringMatching(message), status });
  for (const name of ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'])
    expect(response.headers[name]).toMatch(/^\d+$/);
  expect(response.headers['content-type']).toBe('application/json');
}

test('a created category has an id and is listed with its exact text, and the data file does not contain the key', async () => {
  const data = join(tempDir(), 'data');
  const { create, list } = await startTestSandbox({ data });
  const { status, json: dog } = await create({ name: 'dog', description: 'Canis familiaris' });
  expect([status, dog]).toEqual([201, { id: 1, name: 'dog', description: 'Canis familiaris' }]);
  const name = ' žluťoučký\t🐕\u2028"\\\u0000\ud800 ';
  await create({ name, description: '', color: 'black' });
  await create({ name });
  expect((await list()).json).toEqual([dog, { id: 2, name, description: '' }, { id: 3, name }]);
  expect(readFileSync(`${data}.1.log`, 'latin1')).not.toContain(KEY.slice(0, 12));
});

test('the sandbox keeps every digit of an id up to the largest int64', async () => {
  const { create, list } = await startTestSandbox({ data: dataFileWith({ reset: { nextId: '9223372036854775807' } }) });
  expect((await create({ name: 'dog' })).text).toBe('{"id":9223372036854775807,"name":"dog"}');
  expect((await list()).text).toBe('[{"id":9223372036854775807,"name":"dog"}]');
});

test('a create with an invalid body, media type or size is rejected and creates nothing', async () => {
  const { create, call, list, port } = await startTestSandbox();
  const longest = 'x'.repeat(1024 * 1024 - '{"name":""}'.length);
  const plain = { headers: { 'content-type': 'text/plain' } };
  const rejected: [body: string | Buffer, status: number, code: string, more?: CallOptions][] = [
    ['', 400, 'invalid_json'],
    ['{"name":', 400, 'invalid_json'],
    [Buffer.from('{"name":"\xff"}', 'latin1'), 400, 'invalid_json'],
    ['['.repeat(1_000_000), 400, 'invalid_json'],
    ['[]', 400, 'invalid_category'],
    ['null', 400, 'invalid_category'],
    ['{"description":"x"}', 400, 'invalid_category'],
    ['{"name":"  "}', 400, 'invalid_category'],
    ['{"name":1}', 400, 'invalid_category'],
    ['{"name":"dog","description":null}', 400, 'invalid_category'],
    ['{"id":7,"name":"dog"}', 400, 'invalid_category'],
    ['{"__proto__":{"name":"dog"}}', 400, 'invalid_category'],
    ['{"name":"dog"}', 415, 'unsupported_media_type', plain],
    [`{"name":"${longest}x"}`, 413, 'body_too_large'],
  ];
  for (const [body, status, code, more] of rejected)
    expectError(await create(undefined, { body, ...more }), status, code);
  expectError(await call('POST', '/v1/categories', { body: '{"name":"dog"}' }), 415, 'unsupported_media_type');
  // The body is shorter than its Content-Length.
  await sendRaw(port, rawRequest(port, 'POST', '{"name":"half"}').slice(0, -1));
  expect((await list()).json).toEqual([]);
  const headers = { 'content-type': 'Application/JSON; charset="UTF-8"' };
  expect((await create({ name: longest }, { headers })).status).toBe(201);
});

test('a request without a valid key gets a 401 and is not counted', async () => {
  const { list, create } = await startTestSandbox();
  const wrong = ['Bearer sandbox_test_key_alicf', 'Bearer ', `Basic ${KEY}`, KEY];
  for (const authorization of wrong)
    expectError(await create({ name: 'dog' }, { headers: { authorization } }), 401, 'unauthorized', /invalid$/);
  const response = await list({ key: null });
  expectError(response, 401, 'unauthorized', /; send Authorization: Bearer <API_KEY>$/);
  expect(response.headers['www-authenticate']).toBe('Bearer');
  // The scheme is case-insensitive (RFC 9110, section 11.1).
  const { json, headers: counted } = await list({ headers: { authorization: `bearer  ${KEY}` } });
  expect([json, counted['x-ratelimit-remaining']]).toEqual([[], '59']);
});

test('a sandbox accepts a request target with a query, and one in absolute form', async () => {
  const { call, port } = await startTestSandbox();
  for (const target of ['/v1/categories?limit=1', `http://127.0.0.1:${port}/v1/categories`])
    expect((await call('GET', target)).status).toBe(200);
});

test('a sandbox responds with a 404 to an unknown path, and with a 405 and an Allow header to an unknown method', async () => {
  const { call } = await startTestSandbox();
  const paths = '/ /v1 /v1/ /categories /v1/categories/ /v1/categories/1 /v1/pets /v2/categories';
  for (const path of paths.split(' ')) {
    const message = path.startsWith('/v1/') ? /^path not found$/ : /every path begins with \/v1\//;
    expectError(await call('GET', path), 404, 'not_found', message);
    expectError(await call('GET', path, { key: null }), 404, 'not_found', message);
  }
  for (const method of ['PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
    const response = await call(method, '/v1/categories');
    expectError(response, 405, 'method_not_allowed');
    expect(response.headers['allow']).toBe('GET, POST');
  }
  expect((await call('HEAD', '/v1/categories')).text).toBe('');
});

test('GET /store/orders and GET /pets/{petId} get a 501, the latter with Deprecation and Sunset headers', async () => {
  const { call } = await startTestSandbox();
  const [orders, pet] = [await call('GET', '/v1/store/orders'), await call('GET', '/v1/pets/1')];
  for (const response of [orders, pet]) expectError(response, 501, 'not_implemented');
  expect(orders.headers['deprecation']).toBeUndefined();
  expect(pet.headers['deprecation']).toMatch(/^@\d+$/);
  expect(new Date(String(pet.headers['sunset'])).getTime()).toBeGreaterThan(0);
});

test('a request with a foreign or missing Host, or with any Origin, is rejected', async () => {
  const { port, list, create, call } = await startTestSandbox();
  const hosts = ['attacker.example', `attacker.example:${port}`, '127.0.0.1', `127.0.0.1:${port + 1}`, `[::1]:${port}`];
  for (const host of hosts) expectError(await create({ name: 'dog' }, { headers: { host } }), 403, 'host_rejected');
  expect(await sendRaw(port, 'GET /v1/categories HTTP/1.1\r\n\r\n')).toMatch(/^HTTP\/1\.1 403 /);
  const twice = rawRequest(port, 'GET').replace(/Host: .*\r\n/, '$&Host: attacker.example\r\n');
  expect(await sendRaw(port, twice)).toMatch(/^HTTP\/1\.1 400 .*"code":"invalid_host"/s);
  for (const origin of ['https://attacker.example', 'null', `http://127.0.0.1:${port}`]) {
    const response = await create({ name: 'dog' }, { headers: { origin } });
    expectError(response, 403, 'origin_rejected');
    expect(response.headers['access-control-allow-origin']).toBeUndefined();
    expectError(await call('OPTIONS', '/v1/categories', { headers: { origin } }), 403, 'origin_rejected');
  }
  expect((await list({ headers: { host: `LocalHost:${port}` } })).json).toEqual([]);
});

test('ten creates and ten lists in one write get their responses in order', async () => {
  const { port } = await startTestSandbox();
  const exchanges = Array.from({ length: 10 }, (_, index) => {
    const body = `{"name":"dog ${index}"}`;
    return `${rawRequest(port, 'POST', body)}${rawRequest(port, 'GET')}`;
  });
  const bodies = (await sendRaw(port, exchanges.join(''))).split(/HTTP\/1\.1 20[01] .*?\r\n\r\n/s).slice(1);
  const created = Array.from({ length: 10 }, (_, index) => ({ id: index + 1, name: `dog ${index}` }));
  const expected = created.flatMap((category, index) => [category, created.slice(0, index + 1)]);
  expect(bodies.map((body) => JSON.parse(body))).toEqual(expected);
});

test.each([
  ['the response before it is lost', 'lost-response', '$&'],
  ['the response before it closes the connection', undefined, '$&Connection: close\r\n'],
])('a pipelined request is not processed if %s', async (_reason, fault, hostLine) => {
  const data = join(tempDir(), 'data');
  const { port } = await startTestSandbox({ faults: fault ? [fault] : [], data });
  const request = rawRequest(port, 'POST', '{"name":"dog"}').replace(/Host: .*\r\n/, hostLine);
  await sendRaw(port, request.repeat(2));
  const { list } = await startTestSandbox({ data });
  expect((await list()).json).toEqual([{ id: 1, name: 'dog' }]);
});

test('a Host header without a port is accepted on port 80 only', () => {
  const check = (host: string, port: number) => () => checkOrigin({ host: [host] }, port);
  for (const host of ['127.0.0.1', 'localhost', 'localhost:80']) expect(check(host, 80)).not.toThrow();
  expect(check('127.0.0.1', 4010)).toThrow('must be 127.0.0.1:4010');
  expect(check('evil.example', 80)).toThrow('must be 127.0.0.1:80');
});

test('after a file system error, the sandbox responds with a 507 that names the error', () => {
  const { status, body } = toResponse(Object.assign(new Error('in /secret'), { code: 'ENOSPC' }));
  const message = 'the sandbox cannot save its data (no space left on device)';
  expect([status, JSON.parse(body.toString())]).toEqual([507, { code: 'storage_failed', message, status }]);
});

test('a create followed by garbage in one write gets a 201, the garbage a 400, and an oversized header a 431', async () => {
  const { port, list } = await startTestSandbox({ faults: ['latency=1ms'] });
  const socket = connect(port, '127.0.0.1');
  socket.write(`${rawRequest(port, 'POST', '{"name":"dog"}')}\u0000garbage\r\n\r\n`);
  const received = await text(socket);
  expect(received.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 201', 'HTTP/1.1 400']);
  expect((await list()).json).toEqual([{ id: 1, name: 'dog' }]);
  expect(await sendRaw(port, 'garbage\r\n\r\n')).toBe('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n');
  const longHeader = `GET / HTTP/1.1\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`;
  expect(await sendRaw(port, longHeader)).toMatch(/^HTTP\/1\.1 431 /);
});

// Only Linux is tested: by default, macOS has no 127.0.0.2.
test.runIf(process.platform === 'linux')('a sandbox listens on 127.0.0.1 only', async () => {
  const { port } = await startTestSandbox();
  // The port is free on another loopback address.
  const other = createServer();
  await new Promise<void>((resolve, reject) => other.once('error', reject).listen(port, '127.0.0.2', resolve));
  await new Promise((resolve) => other.close(resolve));
});
