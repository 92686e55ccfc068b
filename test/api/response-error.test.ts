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

test("the error has the service's code, message and status, escaped", () => {
  const error = responseError(
    write,
    reply(400, '{"code":"bad\\u001b","message":"name\\u001b[31m is empty","status":400}'),
  );
  expect(error).toMatchObject({ code: 'bad␛', status: 400 });
  expect(error.message).toBe('the service rejected the request (400): name␛[31m is empty');
});

test.each<[string, HttpResponse, string, string]>([
  [
    'GitHub’s secondary limit',
    reply(403, '{"message":"You have exceeded a secondary rate limit."}'),
    'rate limited by the service (403): You have exceeded a secondary rate limit.',
    'try again in a few minutes',
  ],
  [
    'a limit that states a wait',
    reply(403, '{"message":"slow down"}', { 'retry-after': '60' }),
    'rate limited by the service (403): slow down',
    'try again in 1m',
  ],
  [
    'mod_evasive',
    reply(403, '<!DOCTYPE HTML><html><head><title>403 Forbidden</title></head></html>'),
    'a firewall or proxy rejected the request (403): 403 Forbidden',
    'try again in a few minutes',
  ],
  [
    'a firewall with an empty page',
    reply(403, '', { 'content-type': 'text/html; charset=utf-8' }),
    'a firewall or proxy rejected the request (403)',
    'try again in a few minutes',
  ],
  [
    'the service itself',
    reply(403, '{"code":"plan","message":"not in your plan","status":403}'),
    'the service rejected the request (403): not in your plan',
    'check the plan and the permissions of the API key',
  ],
])('a 403 from %s is explained', (_what, response, message, hint) => {
  expect(responseError(write, response)).toMatchObject({ kind: 'rejected', processed: 'no', message, hint });
});

test('the error about a redirect names its target', () => {
  const error = responseError(read, reply(301, '', { location: 'https://other.example/v1\u001b[2J' }));
  expect(error.message).toContain('https://other.example/v1␛[2J;');
});

test.each([
  [500, 'perhaps'],
  [502, 'perhaps'],
  [204, 'perhaps'],
  [303, 'perhaps'],
  [202, 'late'],
  [408, 'late'],
  [504, 'late'],
  [400, 'no'],
  [401, 'no'],
  [403, 'no'],
])('the error of a create with status %i has processed: %s', (status, processed) => {
  expect(responseError(write, reply(status)).processed).toBe(processed);
});
