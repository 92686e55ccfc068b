// Blocks after 429s that cross one another: whoever's reply comes last, no wait gets shorter.
import { expect, test } from 'vitest';
import { admit } from '../../src/rate-limit/admission.ts';
import type { LedgerState } from '../../src/rate-limit/ledger-state.ts';
import { fold, refused, START, seen, ticket, told } from '../support/records.ts';

// `early` and `late` go out together; `early` is refused for a second.
function refusedOnce(): LedgerState {
  const state = fold({ take: START }, seen(START));
  for (const id of ['early', 'late']) ticket(state, START + 1, id);
  told(state, 'early', refused(START + 100, { waitMs: 1000 }));
  return state;
}

test('a late 429 with a longer wait lengthens the block, and the answer to who went alone before it lifts nothing', () => {
  const state = refusedOnce();
  ticket(state, START + 1100, 'alone');
  told(state, 'late', refused(START + 1200, { waitMs: 60_000 }));
  told(state, 'alone', seen(START + 1300));
  expect(admit(state, START + 61_199)).toEqual({ granted: false, reason: 'blocked', until: START + 61_200 });
  expect(admit(state, START + 61_200)).toEqual({ granted: true, role: 'canary' });
});

test('a late 429 with a shorter wait shortens nothing', () => {
  const state = refusedOnce();
  told(state, 'late', refused(START + 110, { waitMs: 0 }));
  expect(state.block).toMatchObject({ until: START + 1110, consecutive429s: 1 });
  told(state, 'late', refused(START + 120, { waitMs: 500 }));
  expect(state.block).toMatchObject({ until: START + 1120, consecutive429s: 1 });
  const long = fold({ take: START }, seen(START));
  for (const id of ['early', 'late']) ticket(long, START + 1, id);
  told(long, 'early', refused(START + 100, { waitMs: 30_000 }));
  told(long, 'late', refused(START + 110, { waitMs: 2000 }));
  expect(long.block?.until).toBe(START + 30_100);
});

test('the 429 of who went alone never ends before one that lengthened the block meanwhile', () => {
  const state = refusedOnce();
  ticket(state, START + 1100, 'alone');
  told(state, 'late', refused(START + 1200, { waitMs: 4 * 3_600_000, jitterDraw: 999 }));
  const { until = 0 } = state.block ?? {};
  told(state, 'alone', refused(START + 1300, { waitMs: 1000 }));
  expect(state.block?.until).toBeGreaterThanOrEqual(until);
});

test('a wait beyond an hour is not doubled, and never followed by a shorter one', () => {
  const state = fold({ take: START }, refused(START, { waitMs: 2 * 3_600_000 }));
  const again = state.block?.until ?? 0;
  ticket(state, again, 'again');
  told(state, 'again', refused(again, { waitMs: 1000 }));
  expect((state.block?.until ?? 0) - again).toBe(2 * 3_600_000);
});
