// The meaning of each status, for reads and for creates, which may have been processed.
import { expect, test } from 'vitest';
import { responseError } from '../../src/api/response-error.ts';
import type { HttpRequest, HttpResponse } from '../../src/http/types.ts';

const read: HttpRequest = { method: 'GET', path: '/categories', safe: true };
const write: HttpRequest = { method: 'POST', path: '/categories', body: '{}', safe: false };
const reply = (status: number, body = '', headers: HttpResponse['headers'] = {}): HttpResponse => ({
  status,
  headers,
  body: new TextEncoder().encode(body),
  receivedAt: 0,
  sentAt: 0,
});

test.each([
  [400, 'rejected', 'rejected'],
  [401, 'auth', 'auth'],
  [403, 'rejected', 'rejected'],
  [404, 'rejected', 'rejected'],
  [408, 'rejected', 'unknown_outcome'],
  [409, 'rejected', 'rejected'],
  [422, 'rejected', 'rejected'],
  [204, 'service', 'unknown_outcome'],
  [302, 'service', 'service'],
  [307, 'service', 'service'],
  [500, 'service', 'unknown_outcome'],
  [501, 'service', 'unknown_outcome'],
  [503, 'service', 'unknown_outcome'],
])('status %i is %s on a read and %s on a create', (status, onRead, onWrite) => {
  expect(responseError(read, reply(status)).kind).toBe(onRead);
  expect(responseError(write, reply(status)).kind).toBe(onWrite);
});

test("the service's code, message and status are included, escaped", () => {
  const error = responseError(
    write,
    reply(400, '{"code":"bad\\u001b","message":"name\\u001b[31m is empty","status":400}'),
  );
  expect(error).toMatchObject({ code: 'bad␛', status: 400 });
  expect(error.message).toBe('the service rejected the request (400): name␛[31m is empty');
});

test('a redirect names its target', () => {
  const error = responseError(read, reply(301, '', { location: 'https://other.example/v1\u001b[2J' }));
  expect(error.message).toContain('https://other.example/v1␛[2J;');
});
