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

const TABLE: readonly [string, Attempt, read: string, create: string][] = [
  ['a 429', response(429), 'retry', 'retry'],
  ['a 429 without its body', failure('reset', true, 429), 'retry', 'retry'],
  ...[200, 201, 301, 400, 401, 403, 404, 409, 422, 501, 505].map((status): [string, Attempt, string, string] => [
    `a ${status}`,
    response(status),
    'response',
    'response',
  ]),
  ...[408, 500, 502, 503, 504].map((status): [string, Attempt, string, string] => [
    `a ${status}`,
    response(status),
    'retry',
    'response',
  ]),
  ...(['connect', 'proxy', 'timeout', 'reset'] as const).map((reason): [string, Attempt, string, string] => [
    `the failure "${reason}" before a byte was sent`,
    failure(reason, false),
    'retry',
    'retry',
  ]),
  ...(['timeout', 'reset', 'protocol'] as const).map((reason): [string, Attempt, string, string] => [
    `the failure "${reason}" after a byte was sent`,
    failure(reason, true),
    'retry',
    'unknown',
  ]),
  ['a 201 without its body', failure('protocol', true, 201), 'retry', 'unknown'],
  ['a 500 without its body', failure('reset', true, 500), 'retry', 'unknown'],
  ['a 408 without its body', failure('reset', true, 408), 'retry', 'unknown'],
  ['a 400 without its body', failure('reset', true, 400), 'retry', 'response'],
  ['a certificate that is not trusted', failure('tls', false), 'failed', 'failed'],
  ['a body that is too large', failure('too-large', true, 200), 'failed', 'unknown'],
  ['an interruption before a byte was sent', failure('aborted', false), 'failed', 'failed'],
  ['an interruption after a byte was sent', failure('aborted', true), 'failed', 'unknown'],
];

for (const [title, outcome, read, create] of TABLE) {
  test(`the decision after ${title} is "${read}" for a read and "${create}" for a create`, () => {
    expect([next(true, outcome), next(false, outcome)]).toEqual([read, create]);
  });
}

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
