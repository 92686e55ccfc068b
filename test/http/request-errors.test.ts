// Errors of responses and of failed attempts; those of a create state whether it may have been processed.
import { expect, test } from 'vitest';
import { attemptError } from '../../src/http/request-errors.ts';
import { decodeServiceError, responseError } from '../../src/http/response-errors.ts';
import type { HttpRequest, HttpResponse, TransportErrorReason } from '../../src/http/types.ts';
import { TransportError } from '../../src/http/types.ts';

const read: HttpRequest = { method: 'GET', path: '/categories' };
const write: HttpRequest = { method: 'POST', path: '/categories', body: '{}' };
const response = (status: number, body = '', headers: HttpResponse['headers'] = {}): HttpResponse => ({
  status,
  headers,
  body: new TextEncoder().encode(body),
  receivedAt: 0,
  sentAt: 0,
});

const STATUSES: readonly [status: number, kindOfRead: string, kind: string, processed: string][] = [
  [202, 'service', 'unknown_outcome', 'late'],
  [204, 'service', 'unknown_outcome', 'perhaps'],
  [303, 'service', 'service', 'perhaps'],
  [400, 'rejected', 'rejected', 'no'],
  [401, 'auth', 'auth', 'no'],
  [403, 'rejected', 'rejected', 'no'],
  [408, 'rejected', 'unknown_outcome', 'late'],
  [422, 'rejected', 'rejected', 'no'],
  [500, 'service', 'unknown_outcome', 'perhaps'],
  [501, 'service', 'unknown_outcome', 'perhaps'],
  [503, 'service', 'unknown_outcome', 'perhaps'],
  [504, 'service', 'unknown_outcome', 'late'],
];

test.each(STATUSES)(
  'a %i is an error of kind %s for a read, and of kind %s with `processed` "%s" for a create',
  (status, kindOfRead, kind, processed) => {
    expect(responseError(read, response(status)).kind).toBe(kindOfRead);
    expect(responseError(write, response(status))).toMatchObject({ kind, processed });
  },
);

test.each(STATUSES)(
  'the outcome of a create is unknown if the body of its %i is cut off',
  (status, _read, _kind, stated) => {
    const cutOff = new TransportError('reset', true, 'cut off', { head: response(status) });
    const processed = stated === 'late' ? 'late' : 'perhaps';
    const lost = { kind: 'unknown_outcome', status, processed, cause: cutOff };
    expect(attemptError(write, cutOff, new AbortController().signal)).toMatchObject(lost);
  },
);

const LATER = 'try again later';

const [BEFORE, AFTER] = ['before a response', 'after the head of a response'];

test.each<[TransportErrorReason, when: string, kind: string, hint: string, head?: HttpResponse]>([
  ['connect', BEFORE, 'network', 'check the connection'],
  ['timeout', AFTER, 'network', 'try again with a longer timeoutMs', response(200)],
  ['reset', BEFORE, 'network', LATER],
  ['reset', AFTER, 'network', LATER, response(200)],
  ['protocol', BEFORE, 'service', 'check the base URL'],
])(
  'a read that fails with "%s" %s causes an error of kind %s with the hint "%s"',
  (reason, _when, kind, hint, head) => {
    const failure = new TransportError(reason, true, 'it\u001b failed', { head });
    const error = attemptError(read, failure, new AbortController().signal);
    expect(error).toMatchObject({ kind, message: 'it␛ failed', hint, cause: failure });
  },
);

test.each<[TransportErrorReason, string]>([
  ['proxy-auth', 'auth'],
  ['proxy-refused', 'network'],
  ['proxy', 'network'],
])('a read that fails with "%s" causes an error of kind %s with the hint of the failure', (reason, kind) => {
  const failure = new TransportError(reason, false, 'it failed', { hint: 'ask' });
  expect(attemptError(read, failure, new AbortController().signal)).toMatchObject({ kind, hint: 'ask' });
});

test('a read that fails with "too-large" causes an error of kind service without a hint', () => {
  const failure = new TransportError('too-large', true, 'it failed', { head: response(200) });
  const error = attemptError(read, failure, new AbortController().signal);
  expect(error).toMatchObject({ kind: 'service', message: 'it failed', hint: undefined, cause: failure });
});

const PROCESSED = 'check whether the request was processed before you retry';

test.each([
  ['POST', '/categories', 'creating "d␛g"', 'check whether the category exists before you retry'],
  ['PUT', '/categories', 'PUT /categories', PROCESSED],
  ['POST', '/pets\u001b', 'POST /pets␛', PROCESSED],
])(
  'after a lost response to %s %j, the outcome of %s is unknown, and the hint is to %s',
  (method, path, what, hint) => {
    const request = { method, path, body: '{"name":"d\\u001bg"}' };
    const error = attemptError(request, new TransportError('reset', true, 'closed'), new AbortController().signal);
    expect(error).toMatchObject({ message: `the outcome of ${what} is unknown: closed`, hint });
  },
);

test.each([
  ...['EAI_AGAIN', 'ENETUNREACH', 'ENETDOWN'].map((code) => [code, "check this machine's network connection"]),
  ['ENOTFOUND', 'check the host name in the base URL'],
])('the hint after the connection error %s is to %s', (code, hint) => {
  const failure = new TransportError('connect', false, 'x', { code });
  const error = attemptError(read, failure, new AbortController().signal);
  expect(error).toMatchObject({ kind: 'network', hint });
});

test("the error of a response contains the service's code, message and status, with control characters escaped", () => {
  const body = '{"code":"bad\\u001b","message":"name\\u001b[31m is empty","status":400}';
  const message = 'the service rejected the request (400): name␛[31m is empty';
  expect(responseError(write, response(400, body))).toMatchObject({ code: 'bad␛', status: 400, message });
});

// The local clock is at midnight.
const [SEVEN, EIGHT] = ['07', '08'].map((hour) => `Thu, 01 Jan 1970 ${hour}:00:00 GMT`) as [string, string];

type Row = [status: number, what: string, text: string, hint: string, body?: string, headers?: HttpResponse['headers']];

const WAIT = { 'retry-after': '60' };
const HTML = { 'content-type': 'text/html' };
const SOON = 'try again in a few minutes';
const REJECTED = 'rejected the request (403)';
const FIREWALL = `a firewall or proxy ${REJECTED}`;

test.each<Row>([
  [403, ' about a rate limit', 'rate limit', SOON, '{"message":"secondary rate limit"}'],
  [403, ' about too many requests', 'rejected', SOON, 'Too Many Requests'],
  [403, ' with a Retry-After', `${REJECTED}: slow`, 'try again in 1m', '{"message":"slow"}', WAIT],
  [403, ' with another message', `${REJECTED}: no`, "check the API key's plan and permissions", '{"message":"no"}'],
  [403, ' with an HTML body', FIREWALL, SOON, '<!DOCTYPE HTML>'],
  [403, ' with the media type of HTML', FIREWALL, SOON, '', HTML],
  [503, ' with a date as Retry-After', 'server error', 'try again in 1h', '', { 'retry-after': EIGHT, date: SEVEN }],
  [503, '', 'server error', 'try again later'],
  [204, '', 'invalid response: unexpected status 204', 'check the base URL'],
  [404, '', 'rejected', 'check the base URL'],
  [405, ' with an Allow header', 'rejected', 'check the base URL', '', { allow: 'POST' }],
  [408, '', 'the service timed out (408)', LATER],
])(
  'after a %i%s, the error of a read contains "%s", and the hint is to %s',
  (status, _what, text, hint, body, headers) => {
    const message = expect.stringContaining(text);
    expect(responseError(read, response(status, body, headers))).toMatchObject({ message, hint });
  },
);

test.each([
  [501, 'the service does not implement this operation (501)'],
  [304, 'invalid response: unexpected status 304'],
])('after a %i, the error of a read contains "%s" and has no hint', (status, text) => {
  const message = expect.stringContaining(text);
  expect(responseError(read, response(status))).toMatchObject({ message, hint: undefined });
});

test.each([
  [409, 'use another name'],
  [422, 'correct the values and try again'],
  [413, 'shorten the name or description'],
])('after a create is rejected with a %i, the hint is to %s, even if a wait is stated', (status, hint) => {
  const create = { ...write, body: '{"name":"dog"}' };
  expect(responseError(create, response(status, '', { 'retry-after': '5' }))).toMatchObject({ hint });
});

test('the error about a redirect names the target, truncated and with control characters escaped', () => {
  const error = responseError(
    read,
    response(301, '', { location: `https://other.example/v1\u001b[2J${'x'.repeat(400)}` }),
  );
  expect(error.message).toMatch(/to https:\/\/other\.example\/v1␛\[2Jx{250,299};/);
});

test('the valid members of an Error body are decoded, and a long message is truncated', () => {
  const decode = (text: string) => decodeServiceError(Buffer.from(text));
  const body = '{"code":"invalid","message":"no name","status":400}';
  expect(decode(body)).toEqual({ code: 'invalid', serviceMessage: 'no name' });
  for (const other of ['{"code":7,"message":" "}', 'null', '<html>']) expect(decode(other)).toEqual({});
  expect(decode(JSON.stringify({ message: 'x'.repeat(500) })).serviceMessage).toHaveLength(500);
  expect(decode(JSON.stringify({ message: 'x'.repeat(9999) })).serviceMessage).toHaveLength(501);
});
