// The retry decision for every result of a read and of a create.
import { expect, test } from 'vitest';
import type { Attempt } from '../../src/http/retry.ts';
import { decideRetry, isRefusal } from '../../src/http/retry.ts';
import type { Head, TransportErrorReason } from '../../src/http/types.ts';
import { TransportError } from '../../src/http/types.ts';

const attempts = { made: 1, allowed: 5, maxWaitMs: 120_000 };
const head = (status: number): Head => ({ status, headers: {}, receivedAt: 0, sentAt: 0 });
const response = (status: number, retryAfterMs?: number): Attempt => ({
  result: { ...head(status), body: new Uint8Array() },
  retryAfterMs,
});
const failure = (reason: TransportErrorReason, requestSent: boolean, status?: number): Attempt => ({
  result: new TransportError(reason, requestSent, '', status === undefined ? undefined : head(status)),
  retryAfterMs: undefined,
});
const next = (safe: boolean, outcome: Attempt, made = 1): string =>
  decideRetry({ safe }, outcome, { ...attempts, made }, 0.5).next;

const rows = (cases: readonly Attempt[], read: string, create: string) =>
  cases.map((attempt): [Attempt, string, string] => [attempt, read, create]);
const statuses = (...list: number[]): Attempt[] => list.map((status) => response(status));
const failures = (sent: boolean, ...list: TransportErrorReason[]): Attempt[] => list.map((one) => failure(one, sent));

test.each([
  ...rows([response(429), failure('reset', true, 429)], 'retry', 'retry'),
  ...rows(statuses(200, 201, 301, 400, 401, 403, 404, 409, 422, 501, 505), 'response', 'response'),
  ...rows(statuses(408, 500, 502, 503, 504), 'retry', 'response'),
  ...rows(failures(false, 'connect', 'proxy', 'timeout', 'reset'), 'retry', 'retry'),
  ...rows(failures(true, 'timeout', 'reset', 'protocol'), 'retry', 'unknown'),
  // The body of the response was lost.
  ...rows(
    [failure('protocol', true, 201), failure('reset', true, 500), failure('reset', true, 408)],
    'retry',
    'unknown',
  ),
  ...rows([failure('reset', true, 400)], 'retry', 'response'),
  ...rows(failures(false, 'tls', 'aborted'), 'failed', 'failed'),
  ...rows([failure('too-large', true, 200), failure('aborted', true)], 'failed', 'unknown'),
])('the decision after %j is "%s" for a read and "%s" for a create', (attempt, read, create) => {
  expect([next(true, attempt), next(false, attempt)]).toEqual([read, create]);
});

test('a request without attempts left is not retried', () => {
  expect(next(true, response(429), 5)).toBe('limited');
  expect(next(false, response(429), 5)).toBe('limited');
  expect(next(true, response(503), 5)).toBe('response');
  expect(next(true, failure('reset', true), 5)).toBe('failed');
  expect(next(false, failure('connect', false), 5)).toBe('failed');
});

test('the backoff of a read doubles, up to ten seconds, and jitter only lengthens it', () => {
  const pauses = (random: number): unknown[] =>
    [1, 2, 3, 4, 5, 6, 7].map((made) =>
      decideRetry({ safe: true }, response(500), { ...attempts, allowed: 99, made }, random),
    );
  expect(pauses(0.999999)).toEqual(
    [375, 750, 1500, 3000, 6000, 12_000, 12_500].map((pauseMs) => ({ next: 'retry', pauseMs })),
  );
  expect(pauses(0)).toEqual([300, 600, 1200, 2400, 4800, 9600, 10_000].map((pauseMs) => ({ next: 'retry', pauseMs })));
});

test('the Retry-After of a 503 is never shortened, and one beyond --max-wait ends the attempts', () => {
  for (const random of [0, 0.5, 0.99]) {
    const verdict = decideRetry({ safe: true }, response(503, 4000), attempts, random);
    expect(verdict.next === 'retry' && verdict.pauseMs).toBeGreaterThanOrEqual(4000);
  }
  expect(decideRetry({ safe: true }, response(503, 120_001), attempts, 0)).toEqual({ next: 'response' });
});

test('a 429, or a 503 to a create, is a refusal; a 503 to a read is not', () => {
  expect([429, 503, 500].map((status) => isRefusal({ safe: false }, status))).toEqual([true, true, false]);
  expect([429, 503, 500].map((status) => isRefusal({ safe: true }, status))).toEqual([true, false, false]);
});
