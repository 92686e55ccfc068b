// `petstore api`: method, path, bodies, errors and deprecation warnings of a raw request.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { run } from '../../../src/cli/program.ts';
import type { FakeResponse } from '../../support/http-fake.ts';
import { errorResponse, startHttpFake } from '../../support/http-fake.ts';
import { place } from '../../support/processes.ts';
import { petstore } from '../../support/program.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { inProcess, world } from '../../support/world.ts';

const KEY = 'sk_secret_0123456789abcdef';
const RAW = Buffer.from('\ufeff{"id":9007199254740993, "name":"dog\u001b"}\n\n');
const LATIN1 = join(tempDir(), 'latin1.json');
writeFileSync(LATIN1, Buffer.from('"d\u00f6g"', 'latin1'));
const VALID = join(tempDir(), 'valid.json');
writeFileSync(VALID, '{}');
const responses: Readonly<Record<string, FakeResponse>> = {
  '/v1/raw': { body: RAW },
  '/v1/json': { body: '{"id":9007199254740993,"n":1.50}' },
  '/v1/bytes': { body: Buffer.from([0xff, 0x00, 0x1b, 0x5b]) },
  '/v1/empty': { status: 204, headers: { deprecation: 'true' } },
  '/v1/bad': errorResponse(422, 'odd', 'Too odd.', { 'x-stability': 'beta' }),
  '/v1/fails': { status: 501, body: '<html>' },
  '/v1/only': { status: 405, headers: { allow: 'GET, POST' } },
  '/v1/lost': (socket) => socket.destroy(),
  '/v1/moved': { status: 307, headers: { location: 'https://evil.example/' } },
};
const service = await startHttpFake(({ method, path }) => responses[path.replace(/\?.*/, '')] ?? { body: { method } });
afterAll(service.close);
const env = { PETSTORE_API_KEY: KEY, PETSTORE_BASE_URL: service.url };

const api = (...args: string[]) => inProcess(['api', ...args], { env });

test('`petstore api` prints a response body to a pipe byte for byte', async () => {
  const { code, out } = await petstore(place(env), ['api', 'GET', '/raw']);
  expect(code).toBe(0);
  expect(Buffer.from(out)).toEqual(RAW);
});

test('`petstore api` on a terminal indents JSON, keeps every digit of an integer and escapes control characters', async () => {
  const { out } = await inProcess(['api', 'GET', '/json', '-i'], { env, columns: 80 });
  expect(out).toMatch(/^HTTP\/1\.1 200\n[\s\S]*\n\n\{\n {2}"id": 9007199254740993,\n {2}"n": 1\.5\n\}\n$/);
  const raw = await inProcess(['api', 'GET', '/raw'], { env, columns: 80 });
  expect(raw.out).toContain('dog␛');
  expect(raw.out).not.toContain('\u001b');
  expect((await inProcess(['api', 'DELETE', '/empty'], { env, columns: 80 })).out).toBe('');
});

test.each([
  [
    'POST',
    'the status of the response',
    'warning: the output was closed; the service responded to the request with status 200\n',
  ],
  ['GET', 'nothing', ''],
])('`api %s` with a closed stdout exits with code 0 and prints %s on stderr', async (method, _what, warning) => {
  const context = world(['api', method, '/things'], { env });
  expect(await run({ ...context, stdout: { ...context.stdout, isClosed: true } })).toBe(0);
  expect(context.stderr.text()).toBe(warning);
});

test('`api --json` prints any body as one JSON document with every digit of an integer', async () => {
  expect((await api('GET', '/json', '--json')).out).toBe('{"id":9007199254740993,"n":1.5}\n');
  expect((await api('delete', '/empty', '--json')).out).toBe('null\n');
  expect(JSON.parse((await api('GET', '/bytes', '--json')).out)).toBe('\ufffd\u0000\u001b[');
  const included = JSON.parse((await api('GET', '/json', '--json', '--include')).out);
  expect(included).toMatchObject({ status: 200, body: { n: 1.5 } });
  expect(included.headers['content-length']).toBe('32');
});

test.each([
  ['POST /things?x=1 --input body.json', '{"name": "犬"}'],
  ['PUT /things --data {"a":1.0}', '{"a":1.0}'],
  ['POST /stdin --input -', '[1]'],
])('`api %s` sends the body %s unchanged as application/json', async (line, body) => {
  const dir = tempDir();
  writeFileSync(join(dir, 'body.json'), '{"name": "犬"}');
  const { code } = await inProcess(['api', ...line.split(' ')], { env, dir, stdin: '[1]' });
  expect(code).toBe(0);
  const [method, path] = line.split(' ');
  const headers = { 'content-type': 'application/json' };
  expect(service.requests.at(-1)).toMatchObject({ method, path: `/v1${path}`, headers, body });
});

test.each([
  ['things?x=1', 'GET', ''],
  ['things --data {"a":1.0}', 'POST', '{"a":1.0}'],
  ['things --input -', 'POST', '[1]'],
])('`api %s`, without a method, sends a %s request', async (line, method, body) => {
  expect(await inProcess(['api', ...line.split(' ')], { env, stdin: '[1]' })).toMatchObject({ code: 0 });
  const [path] = line.split(' ');
  expect(service.requests.at(-1)).toMatchObject({ method, path: `/v1/${path}`, body });
});

test.each([
  // Git Bash converts `/categories` to such a path.
  ['a Windows path', ['GET', 'C:/Program Files/Git/x'], 'the path must be relative to the base URL\nhint: use a path'],
  ['a body that is not JSON', ['POST', '/x', '--data', '{name: dog}'], 'not valid JSON\nhint: use --input FILE to'],
  ['a GET body in `--data`', ['GET', '/x', '--data', '{}'], 'cannot have a body\nhint: remove --data, or use POST'],
  ['a body that is not UTF-8', ['POST', '/x', '--input', LATIN1], 'the body from --input is not valid JSON'],
  ['a GET body in a file', ['GET', '/x', '--input', VALID], 'cannot have a body\nhint: remove --input, or use POST'],
  ['a directory as input', ['POST', '/x', '--input', '/'], '"/" is a directory'],
  ['a terminal as stdin', ['POST', '/x', '--input', '-'], 'hint: pass a file, or pipe data to stdin'],
])('`api` with %s is a usage error, and nothing is sent', async (_what, args, words) => {
  const before = service.requests.length;
  expect(await inProcess(['api', ...args], { env, columns: 80 })).toMatchObject({
    code: 2,
    out: '',
    err: expect.stringContaining(words),
  });
  expect(service.requests).toHaveLength(before);
});

test.each([
  ['GET', '/bad', 422, 4, 'Too odd.', '{"code":"odd","message":"Too odd.","status":422}'],
  ['GET', '/fails', 501, 7, 'error: the service does not implement this operation (501)', '<html>'],
  ['POST', '/fails', 501, 8, 'error: the outcome of POST /fails is unknown: the service returned 501', '<html>'],
  ['DELETE', '/only', 405, 4, 'hint: use GET or POST instead of DELETE', ''],
  ['GET', '/moved', 307, 7, 'evil.example', ''],
])(
  '`api %s %s` after a %i exits with code %i and prints an error and the unchanged body',
  async (method, path, status, code, words, out) => {
    const outcome = await api(method, path);
    expect(outcome).toMatchObject({ code, out });
    expect(outcome.err).toContain(words);
    const included = await api(method, path, '--include');
    expect(included.out).toMatch(/^HTTP\/1\.1 \d+\r\n[\s\S]*\r\n\r\n/);
    expect(included.out.endsWith(out)).toBe(true);
    const document = JSON.parse((await api(method, path, '--include', '--json')).out);
    expect(document).toMatchObject({ status, headers: expect.any(Object) });
  },
);

test.each([
  ['GET', 6],
  ['HEAD', 6],
  ['OPTIONS', 6],
  ['POST', 8],
  ['PUT', 8],
  ['PATCH', 8],
  ['DELETE', 8],
])('`api %s` exits with code %i if its response is lost', async (method, code) => {
  const lost = await api(method, '/lost', '--max-retries', '0');
  expect([lost.code, service.requests.at(-1)?.method]).toEqual([code, method]);
});

test.each([
  ['GET /bad', 'beta', 'warning: GET /bad is marked beta and may change without notice\n'],
  [
    'GET /pets/7',
    'deprecated in the documentation',
    "warning: GET /pets/7 is deprecated according to the service's documentation",
  ],
  ['DELETE /empty --json', 'deprecated by a header', '{"warning":{"message":"DELETE /empty is deprecated"}}\n'],
])('`api %s` warns of an operation that is %s', async (line, _what, warning) => {
  expect((await api(...line.split(' '))).err).toContain(warning);
});
