// The retry decision for every result of a read and of a create.
import { expect, test } from 'vitest';
import { retryDelayMs, statusTraits } from '../../src/http/retry.ts';
import type { HttpResponse, TransportErrorReason } from '../../src/http/types.ts';
import { TransportError } from '../../src/http/types.ts';

const attempts = { made: 1, maxRetries: 4, maxWaitMs: 120_000 };
type Result = HttpResponse | TransportError;
const response = (status: number, retryAfter?: string): Result => ({
  status,
  headers: { 'retry-after': retryAfter },
  receivedAt: 0,
  sentAt: 0,
  body: new Uint8Array(),
});
const failure = (reason: TransportErrorReason, requestSent: boolean): Result =>
  new TransportError(reason, requestSent, '');
const READ = { method: 'GET' };
const isRetried = (method: string, result: Result): boolean =>
  retryDelayMs({ method }, result, attempts, 0.5) !== undefined;

function label(result: Result): string {
  if (!(result instanceof TransportError)) return `a ${result.status}`;
  return `the failure "${result.reason}" ${result.requestSent ? 'of a request that was sent' : 'before the request was sent'}`;
}

function rows(cases: readonly Result[], read: boolean, create: boolean) {
  const retried = create ? 'a read and a create are' : read ? 'only a read is' : 'neither a read nor a create is';
  return cases.map((result) => [label(result), retried, result, read, create] as const);
}
const statuses = (...list: number[]): Result[] => list.map((status) => response(status));
const failures = (sent: boolean, ...list: TransportErrorReason[]): Result[] => list.map((one) => failure(one, sent));

test.each([
  ...rows([response(429)], true, true),
  ...rows(statuses(200, 201, 301, 400, 401, 403, 404, 409, 422, 501, 505), false, false),
  ...rows(statuses(408, 500, 502, 503, 504), true, false),
  ...rows(failures(false, 'connect', 'proxy', 'timeout', 'reset'), true, true),
  ...rows(failures(true, 'timeout', 'reset', 'protocol'), true, false),
  ...rows(failures(false, 'tls', 'proxy-auth', 'proxy-refused', 'aborted'), false, false),
  ...rows(failures(true, 'too-large', 'aborted'), false, false),
])('after %s, %s retried', (_what, _retried, result, read, create) => {
  expect([isRetried('GET', result), isRetried('POST', result)]).toEqual([read, create]);
});

test('the backoff of a read doubles up to 10 s, and jitter lengthens it by at most a quarter', () => {
  const pauses = (random: number): unknown[] =>
    [1, 2, 3, 4, 5, 6, 7].map((made) =>
      retryDelayMs(READ, response(500), { ...attempts, maxRetries: 98, made }, random),
    );
  expect(pauses(0.999999)).toEqual([375, 750, 1500, 3000, 6000, 12_000, 12_500]);
  expect(pauses(0)).toEqual([300, 600, 1200, 2400, 4800, 9600, 10_000]);
});

test('the pause after a 503 is at least its Retry-After, and a Retry-After beyond `maxWaitMs` ends the attempts', () => {
  const pauses = (random: number) =>
    ['0', '4', '60'].map((stated) => retryDelayMs(READ, response(503, stated), attempts, random));
  expect([pauses(0), pauses(0.999999)]).toEqual([
    [300, 4000, 60_000],
    [375, 4400, 61_000],
  ]);
  expect(retryDelayMs(READ, response(503, '120'), attempts, 0)).toBe(120_000);
  expect(retryDelayMs(READ, response(503, '120.001'), attempts, 0)).toBeUndefined();
});

test('the backoff after a failed connection is at most `maxWaitMs`', () => {
  expect(retryDelayMs(READ, failure('connect', false), { ...attempts, maxWaitMs: 100 }, 0)).toBe(100);
});

test('of the 4xx statuses, only 400, 409, 413 and 422 mean that a create with other values may succeed', () => {
  const statuses = Array.from({ length: 100 }, (_, at) => 400 + at);
  const ofOneCreate = statuses.filter((status) => statusTraits(status).isRowSpecific);
  expect(ofOneCreate).toEqual([400, 409, 413, 422]);
});
