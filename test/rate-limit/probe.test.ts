// The last request of a window as a probe: when it is held back and for how long, and what its reply is worth.
import { describe, expect, test } from 'vitest';
import { admit } from '../../src/rate-limit/admission.ts';
import type { Observation } from '../../src/rate-limit/ledger-record.ts';
import type { LedgerState } from '../../src/rate-limit/ledger-state.ts';
import { initialState } from '../../src/rate-limit/ledger-state.ts';
import type { RateWindow } from '../../src/rate-limit/window.ts';
import { reserveOf } from '../../src/rate-limit/window.ts';
import { fold, LEASE, START, seen, ticket, told } from '../support/records.ts';

const reset = (ms: number): Observation['reset'] => ({ at: START + ms, clock: 'server', resolution: 1000 });

// Ten in each window, the reset told for ten seconds from now, the service's clock 0.2 s behind at most and 0.8 s ahead.
const reply = (at: number, remaining: number, resetMs = 10_000): Observation =>
  seen(START + at, { limit: 10, remaining, reset: reset(resetMs), offset: { lo: -200, hi: 800 } });

// So many left, nothing under way, all the others used by us.
function left(count: number): LedgerState {
  const state = initialState();
  for (let remaining = 9; remaining >= count; remaining--) {
    ticket(state, START, `t${remaining}`);
    told(state, `t${remaining}`, reply(0, remaining));
  }
  return state;
}

const HELD = { granted: false, reason: 'window' };
const PLAIN = { granted: true, role: 'plain' };
const PROBE = { granted: true, role: 'probe' };

describe('the last request of a window', () => {
  test('is held back until the told reset has certainly come, where the next window ends the run', () => {
    for (const rest of [2, 10]) {
      const state = left(1);
      expect(admit(state, START + 30, rest)).toEqual({ ...HELD, until: START + 10_250 });
      expect(admit(state, START + 10_249, rest)).toEqual({ ...HELD, until: START + 10_250 });
      expect(admit(state, START + 10_250, rest)).toEqual(PROBE);
    }
  });

  test('goes in the middle of what is possible, where windows follow in which that can be made good', () => {
    expect(admit(left(1), START + 30, 12)).toEqual({ ...HELD, until: START + 9750 });
    expect(admit(left(1), START + 9750, 12)).toEqual(PROBE);
  });

  test.each([
    ['a single request', undefined],
    ['one of many whose number is not known', 0],
    ['the last of the run', 1],
    ['one without which the run needs a window more', 11],
    ['one without which it needs three windows instead of two', 21],
  ])('is not held back from %s', (_what, rest) => {
    expect(admit(left(1), START + 30, rest)).toEqual(PLAIN);
  });

  test('is not held back where somebody else uses the key: what is left to them will do', () => {
    const state = fold({ take: START }, reply(0, 9), { take: START + 10 }, reply(20, 5));
    for (const remaining of [4, 3]) {
      ticket(state, START + 30, 'ours');
      told(state, 'ours', reply(40, remaining));
    }
    expect(reserveOf(state.short as RateWindow)).toBe(2);
    expect(admit(state, START + 50, 5)).toEqual(PLAIN);
  });

  test('is known only when all replies are here: those out of order make less of what is left', () => {
    const state = left(5);
    for (const id of ['a', 'b', 'c']) ticket(state, START + 10, id);
    told(state, 'c', reply(20, 2));
    told(state, 'b', reply(30, 3));
    expect(admit(state, START + 40, 5)).toEqual({ granted: false, reason: 'sibling' });
    told(state, 'a', reply(50, 4));
    expect(admit(state, START + 60, 5)).toEqual(PLAIN);
  });

  test('is that of the window nearest its end: the day’s is used up', () => {
    const state = left(5);
    ticket(state, START + 10, 'day');
    told(state, 'day', seen(START + 20, { limit: 100, remaining: 1, reset: reset(9 * 3_600_000) }));
    expect(state.long?.remaining).toBe(1);
    expect(admit(state, START + 30, 5)).toEqual(PLAIN);
  });
});

test('a request that finds more left than the last reply before it told met a refill, however near the reset it tells', () => {
  const state = left(2);
  ticket(state, START + 2000, 'plain');
  told(state, 'plain', reply(2010, 9, 11_000));
  expect(state.short).toMatchObject({ remaining: 9, reset: reset(11_000) });
  // One that a later reply overtook, or that did not count, tells nothing of the kind.
  for (const id of ['early', 'late']) ticket(state, START + 2020, id);
  told(state, 'late', reply(2030, 7));
  told(state, 'early', reply(2040, 8));
  ticket(state, START + 2050, 'uncounted');
  told(state, 'uncounted', reply(2060, 7));
  expect(state.short).toMatchObject({ remaining: 7, reset: reset(11_000) });
});

describe('a probe', () => {
  const sent = (at = 10_250): LedgerState => {
    const state = left(1);
    ticket(state, START + at, 'probe', 5);
    expect(state.tickets.get('probe')?.role).toBe('probe');
    return state;
  };

  test('keeps everybody waiting for its reply, also when the window is certainly over', () => {
    const state = sent();
    for (const rest of [undefined, 0, 5]) {
      expect(admit(state, START + 10_260, rest)).toEqual({ granted: false, reason: 'sibling' });
      expect(admit(state, START + 11_300, rest)).toEqual({ granted: false, reason: 'sibling' });
    }
  });

  test('that meets the next window opens it, with an exact count', () => {
    const state = sent();
    told(state, 'probe', reply(10_260, 9, 20_000));
    expect(state.short).toMatchObject({ remaining: 9, granted: 1, foreign: 0, reset: reset(20_000) });
    expect(admit(state, START + 10_270, 4)).toEqual(PLAIN);
  });

  test('that meets the old window uses it up: the next request waits until the reset is certainly over', () => {
    const state = sent();
    told(state, 'probe', reply(10_260, 0));
    expect(state.short).toMatchObject({ remaining: 0, foreign: 0 });
    expect(admit(state, START + 10_270, 4)).toEqual({ ...HELD, until: START + 11_200 });
    expect(admit(state, START + 11_200, 4)).toEqual({ granted: true, role: 'canary' });
  });

  test('that finds more left than was known met a refill, however near the reset it tells', () => {
    const state = sent();
    told(state, 'probe', reply(10_260, 7, 11_000));
    expect(state.short).toMatchObject({ remaining: 7, reset: reset(11_000) });
  });

  test('that meets the old window does not bring back what a later reply saw used', () => {
    const state = left(3);
    for (const id of ['early', 'earlier']) ticket(state, START + 40, id);
    ticket(state, START + 10_250, 'probe', 5);
    expect(state.tickets.get('probe')?.role).toBe('probe');
    told(state, 'probe', reply(10_260, 2));
    expect(state.short?.remaining).toBe(2);
    told(state, 'early', reply(10_270, 1));
    told(state, 'earlier', reply(10_280, 0));
    expect(admit(state, START + 10_290, 4)).toEqual({ ...HELD, until: START + 11_200 });
  });

  test('whose reply is lost is owed', () => {
    const state = sent();
    ticket(state, START + 10_250 + LEASE + 1, 'later', 4);
    expect(state.unconfirmed).toHaveLength(1);
  });
});
