// The pace where no header announces a limit: concurrency grows with success, and after a 429 requests are spaced out.
import { expect, test } from 'vitest';
import { admit } from '../../src/rate-limit/admission.ts';
import { initialState } from '../../src/rate-limit/ledger-state.ts';
import type { Pace } from '../../src/rate-limit/pace.ts';
import { initialPace, paceGranted, paceRefused } from '../../src/rate-limit/pace.ts';
import { bare, history, refused, respond, START, ticket } from '../support/records.ts';

const begun = (): Pace => paceGranted(initialPace(), START);

test('without headers one request is in flight at first, and one more for three rounds of successes', () => {
  const state = history({ take: START }, bare(START + 10));
  let at = START + 10;
  const allowed = [];
  for (let round = 0; round < 8; round++) {
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
  expect(allowed).toEqual([1, 1, 1, 1, 2, 2, 2, 2]);
});

test('a 429 halves the concurrency', () => {
  expect(paceRefused({ ...begun(), concurrency: 6 }, START + 100, 0).concurrency).toBe(3);
  expect(paceRefused(begun(), START + 100, 0).concurrency).toBe(1);
});

test('an estimated rate spaces requests out, and what is announced is the time of the next one', () => {
  const state = history({ take: START }, bare(START + 10), { take: START + 20 }, refused(START + 30, { waitMs: 1000 }));
  ticket(state, START + 1030, 'look');
  respond(state, 'look', bare(START + 1040));
  // Two were let through in 1,040 ms.
  expect(admit(state, START + 1041)).toEqual({ granted: false, reason: 'blocked', until: START + 1030 + 520 });
  expect(admit(state, START + 1550)).toEqual({ granted: true, canary: false });
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
