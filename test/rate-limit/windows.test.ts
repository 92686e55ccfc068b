// Windows: the canary, the minute beside the day, foreign use, late responses, brief windows, a clock that is set back.
import { expect, test } from 'vitest';
import { admit } from '../../src/rate-limit/admission.ts';
import type { Observation } from '../../src/rate-limit/ledger-record.ts';
import { formatRecord } from '../../src/rate-limit/ledger-record.ts';
import type { LedgerState } from '../../src/rate-limit/ledger-state.ts';
import { ledgerFormat } from '../../src/rate-limit/reducer.ts';
import { history, LEASE, refused, respond, START, seen, ticket } from '../support/records.ts';

const CANARY = { granted: true, canary: true };
const PLAIN = { granted: true, canary: false };
const SIBLING = { granted: false, reason: 'sibling' };
const HOURS = 3_600_000;

const serverReset = (ms: number, resolution = 1000): { reset: Observation['reset'] } => ({
  reset: { at: START + ms, clock: 'server', resolution },
});
const note = (state: LedgerState, kind: 'clock' | 'forget', at: number): unknown =>
  ledgerFormat.apply(state, formatRecord({ kind, at }));

test('with no knowledge one request goes alone', () => {
  expect(admit(history({ take: START }), START)).toEqual(SIBLING);
  expect(admit(history({ take: START }, seen(START + 10)), START + 10)).toEqual(PLAIN);
});

test('nothing left and no reset: no wait is made up, and requests go one by one', () => {
  const state = history({ take: START }, seen(START, { remaining: 0, reset: undefined }));
  expect(admit(state, START + 10)).toEqual(PLAIN);
});

const day = (remaining: number): Observation =>
  seen(START, { limit: 1000, remaining, reset: { at: START + 9 * HOURS, clock: 'local', resolution: 1000 } });

test('the day’s window counts beside the minute’s, and the tighter one decides', () => {
  const state = history({ take: START }, day(1), { take: START + 1 }, seen(START + 10));
  expect([state.long?.remaining, state.short?.remaining]).toEqual([0, 59]);
  expect(admit(state, START + 20)).toEqual({ granted: false, until: START + 9 * HOURS + 1000, reason: 'window' });
});

test('after the minute’s reset a canary goes, although the day’s window continues', () => {
  const state = history({ take: START }, day(500), { take: START + 1 }, seen(START + 10));
  expect(admit(state, START + 62_000)).toEqual(CANARY);
});

test('what others use of the key is seen: a long run reserves twice their largest step, a single request does not', () => {
  const state = history({ take: START }, seen(START), { take: START + 1 }, seen(START + 5, { remaining: 55 }));
  expect(state.short).toMatchObject({ foreign: 3, step: 3 });
  const scarce = history({ take: START }, seen(START), { take: START + 1 }, seen(START + 5, { remaining: 6 }));
  expect(admit(scarce, START + 10, true)).toMatchObject({ granted: false, reason: 'window' });
  expect(admit(scarce, START + 10)).toEqual(PLAIN);
});

test('a clock set back by an hour moves everything with it, once, whichever process notices', () => {
  const late = START + HOURS;
  const state = history({ take: late }, refused(late, { waitMs: 30_000 }));
  note(state, 'clock', START);
  note(state, 'clock', START + 5);
  expect(state.time).toBe(START);
  expect(state.block?.until).toBe(START + 30_000);
  expect(admit(state, START + 29_999)).toMatchObject({ reason: 'blocked' });
});

test('forgetting drops blocks and windows, and keeps what is in flight', () => {
  const state = history({ take: START }, refused(START), { take: START + 5000 });
  note(state, 'forget', START + 5001);
  expect([state.block, state.tickets.size]).toEqual([undefined, 1]);
  expect(admit(state, START + 5002)).toEqual(SIBLING);
});

test('a ticket that nobody closed stops counting as in flight after its lease, and is unconfirmed until a response settles it', () => {
  const state = history({ take: START }, seen(START, { remaining: 1, limit: 2 }), { take: START + 1 });
  expect(admit(state, START + 1 + LEASE + 1)).toMatchObject({ granted: false, reason: 'window' });
});

test('late requests of the window before may be counted after the canary, and answered before it', () => {
  const reset = { at: START + 120_000, clock: 'local', resolution: 1000 } as const;
  const state = history({ take: START }, seen(START));
  ticket(state, START + 59_000, 'late');
  ticket(state, START + 62_000, 'canary');
  respond(state, 'late', seen(START + 62_100, { remaining: 58, reset }));
  respond(state, 'canary', seen(START + 62_200, { remaining: 59, reset }));
  expect(state.short?.remaining).toBe(58);
});

test('a late response does not bring back what others have used since, where resets wander', () => {
  const reading = (at: number, remaining: number, ms: number): Observation =>
    seen(START + at, { limit: 10, remaining, ...serverReset(ms, 1) });
  const state = history({ take: START }, reading(0, 9, 5000));
  for (const id of ['x', 'y']) ticket(state, START + 4000, id);
  respond(state, 'y', reading(4100, 0, 5400));
  respond(state, 'x', reading(5460, 1, 5600));
  expect(state.short?.remaining).toBe(0);
});

test('after a reset late requests and the canary fit into the new window together', () => {
  const state = history({ take: START }, seen(START, { limit: 1, remaining: 1 }), { take: START + 59_000 });
  expect(admit(state, START + 61_500)).toEqual(SIBLING);
});

test('a late response of the window before changes nothing', () => {
  const state = history({ take: START }, seen(START, serverReset(10_000)), { take: START + 9000 });
  ticket(state, START + 11_500, 'next');
  respond(state, 'next', seen(START + 11_600, { remaining: 59, ...serverReset(70_000) }));
  respond(state, 't2', seen(START + 11_700, { remaining: 3, ...serverReset(10_000) }));
  expect(state.short).toMatchObject({ remaining: 59, reset: { at: START + 70_000 } });
});

test('where quota comes back bit by bit, the canary’s response replaces what was known', () => {
  const state = history({ take: START }, seen(START, { remaining: 0, ...serverReset(1000) }), { take: START + 2000 });
  respond(state, 't2', seen(START + 2010, { remaining: 10, ...serverReset(2200) }));
  expect(state.short?.remaining).toBe(10);
});

// Ten in each window, opened at START; all but some of them are used at once.
function brief(remaining: number, more: Partial<Observation> = {}): LedgerState {
  const reading = { limit: 10, ...serverReset(1600), ...more };
  const state = history();
  for (let left = (reading.limit ?? 0) - 1; left >= remaining; left--) {
    ticket(state, START, `t${left}`);
    respond(state, `t${left}`, seen(START, { ...reading, remaining: left }));
  }
  return state;
}

test.each([
  ['one second, its reset rounded up', serverReset(1600), 1050],
  ['one second, where the service’s clock is known to a second', serverReset(2000), 1050],
  ['one second, its reset a whole one', serverReset(1000), 1050],
  ['one second from now', { reset: { at: START + 1000, clock: 'local', resolution: 1000 } } as const, 1050],
])('a long run keeps the last request of a window of %s', (_what, reset, until) => {
  const state = brief(1, reset);
  expect(admit(state, START + 10, true)).toEqual({ granted: false, until: START + until, reason: 'window' });
  expect(admit(state, START + until, true)).toEqual(CANARY);
});

test('the last request of a brief window that finds the next one open counts there', () => {
  const state = brief(1);
  ticket(state, START + 1050, 'last', LEASE, true);
  respond(state, 'last', seen(START + 1060, { limit: 10, remaining: 9, ...serverReset(2600) }));
  expect(state.short).toMatchObject({ remaining: 9, startedAt: START + 1060 });
});

test('a brief window that is still open then waits for its reset from now on', () => {
  const state = brief(1);
  ticket(state, START + 1050, 'last', LEASE, true);
  respond(state, 'last', seen(START + 1060, { limit: 10, remaining: 0, ...serverReset(1600) }));
  expect(admit(state, START + 1070, true)).toEqual({ granted: false, until: START + 2600, reason: 'window' });
  ticket(state, START + 2600, 'next', LEASE, true);
  respond(state, 'next', seen(START + 2610, { limit: 10, remaining: 9, ...serverReset(4200) }));
  for (let left = 8; left > 0; left--) {
    ticket(state, START + 2620, `n${left}`, LEASE, true);
    respond(state, `n${left}`, seen(START + 2630, { limit: 10, remaining: left, ...serverReset(4200) }));
  }
  expect(admit(state, START + 2640, true)).toEqual({ granted: false, until: START + 4250, reason: 'window' });
});

// Four per five seconds: `of` opens a window, whose reset is rounded up, and leaves one request of it.
function useUp(state: LedgerState, of: number, reset: ReturnType<typeof serverReset>): void {
  for (const remaining of [3, 2, 1]) {
    const at = of + 10 * (3 - remaining);
    ticket(state, at, `${of}-${remaining}`, LEASE, true);
    respond(state, `${of}-${remaining}`, seen(at + 5, { limit: 4, remaining, ...reset }));
  }
}

test('so does the last request of a window of some seconds; a single request does not', () => {
  const state = history({ take: START }, seen(START, { limit: 4, remaining: 0, ...serverReset(5900) }));
  useUp(state, START + 7000, serverReset(12_900));
  expect(admit(state, START + 7040, true)).toEqual({ granted: false, until: START + 12_055, reason: 'window' });
  expect(admit(state, START + 12_055, true)).toEqual(CANARY);
  expect(admit(state, START + 7040)).toEqual(PLAIN);
});

test('no longer where such a window was found open when its whole seconds had passed', () => {
  const state = history({ take: START }, seen(START, { limit: 4, remaining: 0, ...serverReset(5900) }));
  useUp(state, START + 7000, serverReset(12_900));
  ticket(state, START + 12_055, 'last', LEASE, true);
  respond(state, 'last', seen(START + 12_060, { limit: 4, remaining: 0, ...serverReset(12_900) }));
  useUp(state, START + 13_900, serverReset(18_900));
  expect(admit(state, START + 13_940, true)).toEqual(PLAIN);
});

test.each<[string, LedgerState, boolean]>([
  ['one of several that are left', brief(2), true],
  ['a window of a minute', brief(1, serverReset(60_000)), true],
  ['a reset in milliseconds', brief(1, serverReset(1600, 1)), true],
  [
    'a window that was first seen half-way',
    history({ take: START }, seen(START, { limit: 10, remaining: 1, ...serverReset(1600) })),
    true,
  ],
  ['a limit below four', brief(1, { limit: 3 }), true],
])('%s does not wait', (_what, state, bulk) => {
  expect(admit(state, START + 10, bulk)).toEqual(PLAIN);
});
