// Invalid HTTP is answered with an Error object, does no harm and has no effect.
import { expect, test } from 'vitest';
import { KEY, sendRaw, startTest } from './support.ts';

/** Undefined if the connection was closed without a response. */
function statusOf(text: string): number | undefined {
  const status = /^HTTP\/1\.1 (\d{3}) /.exec(text)?.[1];
  return status === undefined ? undefined : Number(status);
}

function expectError(text: string, status: number): void {
  expect(statusOf(text)).toBe(status);
  for (const name of ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset', 'Date']) {
    expect(text).toMatch(new RegExp(`\r\n${name}: `, 'i'));
  }
  const body = JSON.parse(text.slice(text.indexOf('\r\n\r\n') + 4));
  expect(body).toEqual({ code: expect.any(String), message: expect.any(String), status });
}

const HEAD = 'POST /v1/categories HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nContent-Type: application/json\r\n';
const WITH_KEY = `${HEAD}Authorization: Bearer ${KEY}\r\n`;

const MALFORMED: readonly [what: string, bytes: string, status: number][] = [
  ['garbage', '\u0000\u0001\u0002 garbage \r\n\r\n', 400],
  ['a TLS hello', '\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\u00fc\u0003\u0003', 400],
  ['a length that is not a number', `${WITH_KEY}Content-Length: ten\r\n\r\n{"name":"x"}`, 400],
  ['a negative length', `${WITH_KEY}Content-Length: -1\r\n\r\n`, 400],
  ['two lengths', `${WITH_KEY}Content-Length: 12\r\nContent-Length: 13\r\n\r\n{"name":"x"}`, 400],
  ['length and chunks', `${WITH_KEY}Content-Length: 12\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`, 400],
  ['a chunk without a size', `${WITH_KEY}Transfer-Encoding: chunked\r\n\r\nzz\r\n{"name":"x"}\r\n0\r\n\r\n`, 400],
  ['no Host', 'GET /v1/categories HTTP/1.1\r\n\r\n', 400],
  ['two Hosts', 'GET /v1/categories HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nHost: evil\r\n\r\n', 400],
  ['an empty Host', 'GET /v1/categories HTTP/1.1\r\nHost:\r\n\r\n', 403],
  ['a path with a NUL', 'GET /v1/cat\u0000egories HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n\r\n', 400],
  ['a header name with a space', 'GET /v1/categories HTTP/1.1\r\nHost : 127.0.0.1:PORT\r\n\r\n', 400],
  ['another protocol', 'GET /v1/categories HTTX/1.1\r\nHost: 127.0.0.1:PORT\r\n\r\n', 400],
  ['a head of 20 KB', `GET /v1/categories HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`, 431],
  ['CONNECT', 'CONNECT evil:443 HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n\r\n', 405],
  ['an unknown expectation', `${WITH_KEY}Expect: miracles\r\nContent-Length: 2\r\n\r\n{}`, 417],
];

test.each(MALFORMED)('%s is answered with an Error object', async (_what, bytes, status) => {
  const { port, list } = await startTest();
  expectError(await sendRaw(port, Buffer.from(bytes.replaceAll('PORT', String(port)), 'latin1')), status);
  expect((await list()).json).toEqual([]);
});

test('a body that ends before its length creates nothing', async () => {
  const { port, list } = await startTest();
  const text = await sendRaw(
    port,
    `${WITH_KEY.replace('PORT', String(port))}Content-Length: 50\r\n\r\n{"name":"half"}`,
  );
  expect(statusOf(text) ?? 400).toBe(400);
  expect((await list()).json).toEqual([]);
});

test('a requested upgrade is ignored', async () => {
  const { port } = await startTest();
  const head = `GET /v1/categories HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: Bearer ${KEY}\r\n`;
  expect(statusOf(await sendRaw(port, `${head}Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n`))).toBe(200);
});

test('five thousand malformed requests change nothing', async () => {
  const { port, create, list } = await startTest({ limits: [] });
  await create({ name: 'dog' });
  let sent = 0;
  const bytesOf = (number: number): Buffer => {
    const bytes = MALFORMED[number % MALFORMED.length]?.[1] ?? '';
    const length = number % 3 === 0 ? bytes.length : (number * 7919) % bytes.length;
    return Buffer.from(bytes.replaceAll('PORT', String(port)).slice(0, length), 'latin1');
  };
  const worker = async (): Promise<void> => {
    while (sent < 5_000) {
      const status = statusOf(await sendRaw(port, bytesOf(sent++)));
      if (status !== undefined) expect(status).toBeGreaterThanOrEqual(400);
    }
  };
  await Promise.all(Array.from({ length: 16 }, worker));
  expect((await list()).json).toEqual([{ id: 1, name: 'dog' }]);
  expect((await create({ name: 'cat' })).json.id).toBe(2);
}, 60_000);
