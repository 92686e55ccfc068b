// Responses that do not report a window, and requests that were lost: they count in it all the same.
import { expect, test } from 'vitest';
import { admit } from '../../src/rate-limit/admission.ts';
import type { Observation } from '../../src/rate-limit/ledger-record.ts';
import { formatRecord } from '../../src/rate-limit/ledger-record.ts';
import type { LedgerState } from '../../src/rate-limit/ledger-state.ts';
import { ledgerFormat } from '../../src/rate-limit/reducer.ts';
import { bare, history, respond, START, seen, ticket } from '../support/records.ts';

const reset = (ms: number): Observation['reset'] => ({ at: START + ms, clock: 'server', resolution: 1000 });
const minute = (at: number, remaining: number): Observation =>
  seen(START + at, { limit: 10, remaining, reset: reset(60_000) });
const day = (at: number, remaining: number): Observation =>
  seen(START + at, { limit: 1000, remaining, reset: reset(9 * 3_600_000) });
const failed = (at: number): Observation => bare(START + at, { status: 502 });

function grants(state: LedgerState, at: number): number {
  let granted = 0;
  for (let id = 0; id < 20; id++) {
    ticket(state, START + at, `n${id}`);
    if (state.tickets.has(`n${id}`)) granted++;
  }
  return granted;
}

test.each<[string, (at: number, left: number) => Observation]>([
  ['no window', failed],
  ['the day only', day],
])(
  'a late response does not bring back what was used meanwhile by requests whose responses report %s',
  (_what, other) => {
    const state = history({ take: START }, minute(0, 6));
    // Counted in this order, 5, 4 and 3 left; the first one's response comes last.
    for (const id of ['a', 'b', 'c']) ticket(state, START + 1, id);
    respond(state, 'b', other(10, 500));
    respond(state, 'c', other(11, 499));
    respond(state, 'a', minute(12, 5));
    expect(state.short?.remaining).toBe(3);
    expect(grants(state, 20)).toBe(3);
  },
);

test('what is remembered of unreported requests does not grow without end', () => {
  const state = history({ take: START }, minute(0, 9), { take: START + 1 }, day(2, 900));
  for (let at = 0; at < 8; at++) {
    ticket(state, START + 3 + at, `s${at}`);
    respond(state, `s${at}`, day(4 + at, 899 - at));
  }
  expect(state.short?.uncounted.length).toBeLessThanOrEqual(1);
});

test('the day’s last request is not granted to a canary while another is in flight', () => {
  const state = history({ take: START }, day(0, 2), { take: START + 1 }, minute(2, 9));
  expect(state.long?.remaining).toBe(1);
  ticket(state, START + 59_000, 'late');
  expect(admit(state, START + 61_500)).toEqual({ granted: false, reason: 'sibling' });
  respond(state, 'late', failed(61_600));
  expect(admit(state, START + 61_700)).toMatchObject({ granted: false, reason: 'window' });
});

test('a lost request that a response of the day settles counts in the minute for good', () => {
  const state = history({ take: START }, minute(0, 3));
  ticket(state, START + 1, 'lost');
  ledgerFormat.apply(state, formatRecord({ kind: 'closed', at: START + 5, id: 'lost', how: 'lost' }));
  ticket(state, START + 6, 'next');
  respond(state, 'next', day(7, 500));
  expect(state.unconfirmed).toEqual([]);
  expect(grants(state, 20)).toBe(1);
});
