// The pace where no header announces a limit: concurrency grows with success, and after a 429 requests are spaced out.
import { expect, test } from 'vitest';
import { admit } from '../../src/rate-limit/admission.ts';
import { initialState } from '../../src/rate-limit/ledger-state.ts';
import type { Pace } from '../../src/rate-limit/pace.ts';
import { initialPace, paceGranted, pacePassed, paceRefused } from '../../src/rate-limit/pace.ts';
import { bare, history, refused, respond, START, seen, ticket } from '../support/records.ts';

const begun = (): Pace => paceGranted(initialPace(), START);

test('without headers one request is in flight at first, and one more for each round of successes', () => {
  const state = history({ take: START }, bare(START + 10));
  let at = START + 10;
  const allowed = [];
  for (let round = 0; round < 4; round++) {
    let count = 0;
    for (;;) {
      ticket(state, at, `r${round}-${count}`);
      if (!state.tickets.has(`r${round}-${count}`)) break;
      count++;
    }
    allowed.push(count);
    at += 10;
    for (let i = 0; i < count; i++) respond(state, `r${round}-${i}`, bare(at));
  }
  expect(allowed).toEqual([2, 2, 3, 4]);
});

test('a 429 halves the concurrency', () => {
  expect(paceRefused({ ...begun(), concurrency: 6 }, START + 100).concurrency).toBe(3);
  expect(paceRefused(begun(), START + 100).concurrency).toBe(1);
});

test('the first estimate is what was let through since the beginning, until the success after the 429', () => {
  let pace = begun();
  for (let i = 1; i <= 11; i++) pace = pacePassed(pace, START + i);
  pace = paceRefused(pace, START + 12);
  expect(pace.intervalMs).toBeUndefined();
  pace = pacePassed(pace, START + 1200);
  expect(pace).toMatchObject({ intervalMs: 100, passed: 1, since: START + 12 });
});

test.each<[string, Partial<Pace>, at: number, Partial<Pace>]>([
  [
    'right after the estimate measures the rate',
    { intervalMs: 100, passed: 1 },
    1100,
    { intervalMs: 1100, ramping: true },
  ],
  [
    'while the rate still rises slows it down',
    { intervalMs: 70, passed: 5 },
    3000,
    { intervalMs: 100, ramping: false },
  ],
  ['after many successes measures the rate', { intervalMs: 50, passed: 20 }, 5000, { intervalMs: 250, ramping: false }],
  ['never speeds up', { intervalMs: 500, passed: 20 }, 5000, { intervalMs: 500 }],
  [
    'to a look changes nothing but the concurrency',
    { intervalMs: 500, passed: 0 },
    5000,
    { intervalMs: 500, since: START },
  ],
])('a 429 %s', (_title, pace, at, expected) => {
  const before: Pace = { ...begun(), ...pace };
  const { intervalMs = 0, ...rest } = paceRefused(before, START + at);
  expect({ ...rest, intervalMs: Math.round(intervalMs) }).toMatchObject(expected);
});

test('each success speeds up: by a quarter until a 429 showed where the rate ends, then by little', () => {
  const paced = { ...begun(), intervalMs: 1000 };
  expect(pacePassed({ ...paced, ramping: true }, START).intervalMs).toBe(800);
  expect(pacePassed({ ...paced, ramping: false }, START).intervalMs).toBeCloseTo(995, 0);
});

test('an estimated rate spaces requests out, and what is announced is the time of the next one', () => {
  const state = history({ take: START }, bare(START + 10), { take: START + 20 }, refused(START + 30, { waitMs: 1000 }));
  ticket(state, START + 1030, 'look');
  respond(state, 'look', bare(START + 1040));
  // Two were let through in 1,040 ms.
  expect(admit(state, START + 1041)).toEqual({ granted: false, reason: 'blocked', until: START + 1030 + 520 });
  expect(admit(state, START + 1550)).toEqual({ granted: true, canary: false });
});

test('a 429 of a window that is announced as used up sets no pace', () => {
  const reset = { at: START + 5000, clock: 'server', resolution: 1000 } as const;
  const limited = refused(START + 30, { limit: 60, remaining: 0, reset, waitMs: 5000, waitFrom: 'reset' });
  const state = history({ take: START }, seen(START + 10), { take: START + 20 }, limited);
  ticket(state, START + 6000, 'look');
  respond(state, 'look', seen(START + 6010, { reset: { ...reset, at: START + 65_000 } }));
  expect(state.pace.intervalMs).toBeUndefined();
});

test('an estimate that nobody used for ten minutes is dropped', () => {
  const paced: Pace = { ...begun(), intervalMs: 1000, concurrency: 5 };
  expect(paceGranted(paced, START + 600_000).intervalMs).toBe(1000);
  expect(paceGranted(paced, START + 600_001)).toEqual({
    ...begun(),
    since: START + 600_001,
    grantedAt: START + 600_001,
  });
  const state = { ...initialState(), verified: true, pace: { ...paced, intervalMs: 1e9 } };
  expect(admit(state, START + 600_001)).toEqual({ granted: true, canary: false });
});
