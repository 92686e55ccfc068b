// The output of `--verbose`: requests and responses, without secrets in URLs and headers.
import { expect, test } from 'vitest';
import { withTracing } from '../../src/http/trace.ts';
import type { HttpRequest, HttpResponse } from '../../src/http/types.ts';
import { TransportError } from '../../src/http/types.ts';
import { ManualClock } from '../support/fake-clock.ts';

async function traced(result: Partial<HttpResponse> | TransportError, more: Partial<HttpRequest> = {}) {
  const lines: string[] = [];
  const response = { status: 200, headers: {}, body: new Uint8Array(), receivedAt: 0, sentAt: 0, ...result };
  const send = () => (result instanceof TransportError ? Promise.reject(result) : Promise.resolve(response));
  const transport = { send, close: async () => undefined };
  const verbose = withTracing(transport, 'https://a.example/v1', new ManualClock(), (line) => void lines.push(line));
  const request = { method: 'GET', path: '/categories', ...more };
  await verbose.send(request, { timeoutMs: 1, signal: new AbortController().signal }).catch(() => undefined);
  return lines;
}

test('`--verbose` prints requests and responses, with secrets in URLs and headers redacted', async () => {
  const headers = { 'x-ratelimit-limit': '60', 'set-cookie': 'session=1', location: '/other?code=abc' };
  const request = { path: '/categories?token=abc&code=abc', body: '' };
  expect(await traced({ headers, body: Buffer.from('[]') }, request)).toEqual([
    '> GET https://a.example/v1/categories?token=[redacted]&code=[redacted]',
    '> authorization: Bearer [redacted]',
    '> content-type: application/json (0 bytes)',
    '< 200 in 0ms, 2 bytes',
    '< x-ratelimit-limit: 60',
    '< set-cookie: [redacted]',
    '< location: /other?code=[redacted]',
  ]);
});

test.each('x-auth cookie token secret api-key session password credential signature csrf nonce'.split(' '))(
  '`--verbose` redacts the header "%s"',
  async (name) => {
    expect((await traced({ headers: { [name]: 'abc' } })).at(-1)).toBe(`< ${name}: [redacted]`);
  },
);

test('`--verbose` prints the body of an error response, truncated and escaped, or the reason for a failed attempt', async () => {
  const failed = { status: 400, body: Buffer.from(`{"message":"\u001b[31mno"}\n${'x'.repeat(5000)}`) };
  const lines = await traced(failed, { body: '"é"' });
  expect([lines[2], lines[4]]).toEqual(['> content-type: application/json (4 bytes)', '< {"message":"␛[31mno"}']);
  expect(lines.at(-1)).toMatch(/^< x{1900,2000}…$/);
  const failure = new TransportError('connect', false, 'connection refused');
  expect((await traced(failure)).at(-1)).toBe('< connection refused, after 0ms');
  const cutOff = new TransportError('reset', true, 'cut off', {
    head: { status: 200, headers: {}, receivedAt: 0, sentAt: 0 },
  });
  expect((await traced(cutOff)).at(-1)).toBe('< cut off (after status 200), after 0ms');
});
