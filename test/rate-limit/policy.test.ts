// The policy: blocks after refusals, windows and their ends, requests without a response, and the pace without headers.
import { expect, test } from 'vitest';
import type { Observation } from '../../src/rate-limit/ledger-record.ts';
import type { KeyState } from '../../src/rate-limit/policy.ts';
import { admit, initialState, reduce, stillGranted } from '../../src/rate-limit/policy.ts';
import { RULES } from '../../src/rate-limit/rules.ts';
import { bare, history, LEASE, refused, respond, START, seen, ticket } from '../support/records.ts';

const PROBE = { granted: true, probe: true };
const PLAIN = { granted: true, probe: false };
const PENDING = { granted: false, reason: 'pending' };
const blockedUntil = (until: number) => ({ granted: false, reason: 'blocked', until: START + until });
const usedUpUntil = (until: number) => ({ granted: false, reason: 'window', until: START + until });

const silent = { waitMs: undefined, waitFrom: 'backoff' } as const;
const statedWait = (seconds: number): Partial<Observation> => ({ waitMs: seconds * 1000 });
const serverReset = (ms: number, resolution = 1000): { reset: Observation['reset'] } => ({
  reset: { at: START + ms, clock: 'service', resolution },
});

// Sends a probe whenever the block is over; each is refused. Returns the waits in seconds.
function waitsOf(state: KeyState, ...refusals: readonly Partial<Observation>[]): number[] {
  let now = Math.max(START, state.time);
  return refusals.map((refusal, i) => {
    ticket(state, now, `probe${i}`);
    respond(state, `probe${i}`, refused(now, refusal));
    const wait = (state.block?.until ?? 0) - now;
    now += wait;
    return wait / 1000;
  });
}

// Grants as many requests at `at` as the policy allows.
function grants(state: KeyState, at: number): number {
  for (let id = 0; ; id++) if (!ticket(state, START + at, `n${at}-${id}`)?.granted) return id;
}

test.each<[string, Partial<Observation>[], number[]]>([
  ['without headers the floor doubles, up to a minute', Array(8).fill(silent), [1, 2, 4, 8, 16, 32, 60, 60]],
  ['a Retry-After of 0 states no wait, so the floor doubles', Array(4).fill(statedWait(0)), [1, 2, 4, 8]],
  ['a stated wait is multiplied by at most four', Array(5).fill(statedWait(1)), [1, 2, 4, 4, 4]],
  ['a wait is the longer of the floor and the stated wait', [30, 30, 1, 10, 3].map(statedWait), [30, 30, 4, 10, 12]],
  ['a stated wait of a tenth of a second is a second', Array(3).fill(statedWait(0.1)), [1, 1, 1]],
  ['no header blocks a key for longer than 25 hours', [statedWait(3_000_000)], [25 * 3600]],
])('%s', (_title, refusals, waits) => {
  expect(waitsOf(initialState(), ...refusals)).toEqual(waits);
});

test('a success, or a minute after a block without a refusal, resets the count of consecutive refusals', () => {
  const state = initialState();
  waitsOf(state, silent, silent, silent);
  const { until = 0 } = state.block ?? {};
  ticket(state, until, 'ok');
  respond(state, 'ok', bare(until + 10));
  expect(state.block).toBeUndefined();
  expect(waitsOf(state, silent)).toEqual([1]);
  const later = initialState();
  waitsOf(later, silent, silent, silent);
  ticket(later, START + 67_000, 'near');
  const near = structuredClone(later);
  respond(near, 'near', refused(START + 67_000, silent));
  expect(near.block).toMatchObject({ refusals: 4, until: START + 75_000 });
  respond(later, 'near', refused(START + 67_001, silent));
  expect(later.block).toMatchObject({ refusals: 1, until: START + 68_001 });
});

test('jitter only lengthens a wait, by a twentieth and by a second at most', () => {
  for (const [waitMs, most] of [
    [2000, 100],
    [40_000, 1000],
  ] as const) {
    for (const draw of [0, 1, 500, 999]) {
      const state = history({ take: START });
      respond(state, 't1', refused(START, { waitMs }), draw);
      expect((state.block?.until ?? 0) - START).toBe(waitMs + Math.round((most * draw) / 1000));
    }
  }
});

test('a 429 that states its reset blocks until the reset has certainly passed', () => {
  const limited = { limit: 60, remaining: 0, waitMs: 5000, waitFrom: 'reset', ...serverReset(5000) } as const;
  expect(history({ take: START }, refused(START, limited)).block).toMatchObject({
    until: START + 6000,
    reason: 'reset',
  });
  const exact = refused(START, { ...limited, ...serverReset(5000, 1) });
  expect(history({ take: START }, exact).block?.until).toBe(START + 5050);
});

test('the end of a block overrides a later reset that earlier responses reported', () => {
  const state = history({ take: START }, seen(START, { remaining: 1, ...serverReset(480_000) }), { take: START + 5 });
  const limited = { limit: 60, remaining: 0, waitMs: 2000, waitFrom: 'reset', ...serverReset(2000) } as const;
  respond(state, 't2', refused(START + 10, limited));
  expect(admit(state, START + 2999)).toEqual(blockedUntil(3000));
  expect(admit(state, START + 3000)).toEqual(PROBE);
  ticket(state, START + 3000, 'probe');
  respond(state, 'probe', bare(START + 3010));
  // The successful probe dropped the window that had nothing left.
  expect(admit(state, START + 10_000)).toEqual(PLAIN);
});

test('refusals of requests that were in flight together count as one, and the latest end holds', () => {
  const state = history({ take: START }, seen(START));
  for (let i = 0; i < 8; i++) ticket(state, START + 1, `e${i}`);
  for (let i = 0; i < 8; i++) respond(state, `e${i}`, refused(START + 20 + i, { waitMs: 1000 * (8 - i) }));
  expect(state.block).toMatchObject({ refusals: 1, until: START + 20 + 8000, reason: 'retry_after' });
  respond(state, 'unknown', refused(START + 30, { waitMs: 60_000 }));
  expect(state.block).toMatchObject({ refusals: 1, until: START + 60_030 });
});

// `early` and `late` are in flight together, and `early` is refused for a second.
function refusedOnce(): KeyState {
  const state = history({ take: START }, seen(START));
  for (const id of ['early', 'late']) ticket(state, START + 1, id);
  respond(state, 'early', refused(START + 100, { waitMs: 1000 }));
  return state;
}

test('the success of a probe does not end a block that a late refusal extended', () => {
  const state = refusedOnce();
  expect(admit(state, START + 1100)).toEqual(PROBE);
  ticket(state, START + 1100, 'probe');
  respond(state, 'late', refused(START + 1200, { waitMs: 60_000 }));
  respond(state, 'probe', seen(START + 1300));
  expect(admit(state, START + 61_199)).toEqual(blockedUntil(61_200));
  expect(admit(state, START + 61_200)).toEqual(PROBE);
});

test('the late success of a request sent before a refusal does not end the block', () => {
  const state = refusedOnce();
  respond(state, 'late', seen(START + 120));
  expect(admit(state, START + 130)).toEqual(blockedUntil(1100));
});

test('one probe is sent after a block, and its success opens the window', () => {
  const used = { limit: 60, remaining: 0, ...serverReset(4000) };
  const state = history({ take: START }, refused(START, used));
  expect(admit(state, START + 4999)).toEqual(blockedUntil(5000));
  expect(ticket(state, START + 5000, 'probe')).toEqual(PROBE);
  expect(admit(state, START + 5001)).toEqual(PENDING);
  respond(state, 'probe', seen(START + 5010));
  expect(grants(state, 5020)).toBe(59);
});

test('a ticket allows its request until its lease ends or a block begins', () => {
  const state = refusedOnce();
  expect(stillGranted(state, 'late', START + 1099)).toBe(false);
  expect(stillGranted(state, 'late', START + 1100)).toBe(true);
  expect(stillGranted(state, 'late', START + 1 + LEASE)).toBe(true);
  expect(stillGranted(state, 'late', START + 2 + LEASE)).toBe(false);
  expect(stillGranted(state, 'early', START + 1100)).toBe(false);
});

test('a block copied from another ledger takes effect unless a longer one is known', () => {
  const state = history({ take: START }, seen(START));
  const inherit = (until: number): unknown =>
    reduce(state, { kind: 'block', at: START + 10, ms: until - 10, reason: 'retry_after' });
  inherit(5000);
  expect(admit(state, START + 4999)).toEqual(blockedUntil(5000));
  inherit(4000);
  expect(state.block?.until).toBe(START + 5000);
  expect(admit(state, START + 5000)).toEqual(PROBE);
  inherit(1e15);
  expect(state.block?.until).toBe(START + 10 + 1.1 * RULES.blockCapMs);
});

test('before the first response one probe is in flight, and then as many requests as are left', () => {
  const state = history({ take: START });
  expect(admit(state, START)).toEqual(PENDING);
  respond(state, 't1', seen(START + 10, { remaining: 5 }));
  expect(grants(state, 10)).toBe(5);
  expect(admit(state, START + 20)).toEqual(PENDING);
  for (let id = 0; id < 5; id++) respond(state, `n10-${id}`, seen(START + 30, { remaining: 4 - id }));
  expect(admit(state, START + 40)).toEqual(usedUpUntil(61_000));
});

test('a probe without a response keeps other requests from being sent for 5 s, with and without a limit', () => {
  const state = history({ take: START });
  expect(admit(state, START + 5000)).toEqual(PENDING);
  expect(ticket(state, START + 5001, 'second')).toEqual(PROBE);
  expect(admit(state, START + 10_001)).toEqual(PENDING);
  respond(state, 'second', seen(START + 10_001, { remaining: 5 }));
  // The first probe may still count.
  expect(grants(state, 10_002)).toBe(4);
  const reset = history({ take: START }, seen(START, { remaining: 0 }));
  ticket(reset, START + 61_000, 'stopped');
  expect(admit(reset, START + 66_000)).toEqual(PENDING);
  expect(admit(reset, START + 66_001)).toEqual(PROBE);
});

test('a response to a later request that reports another limit replaces the window, even one with an earlier reset', () => {
  const unlimited = { limit: 2 ** 31 - 1, remaining: 2 ** 31 - 1 };
  const state = history({ take: START }, seen(START, unlimited));
  for (const id of ['late', 'later']) ticket(state, START + 1, id);
  respond(state, 'later', seen(START + 10, unlimited));
  respond(state, 'late', seen(START + 20, { limit: 60, remaining: 59, ...serverReset(10_000) }));
  expect(state.window?.limit).toBe(unlimited.limit);
  ticket(state, START + 30, 'next');
  respond(state, 'next', seen(START + 40, { limit: 60, remaining: 58, ...serverReset(10_000) }));
  expect(state.window).toMatchObject({ limit: 60, remaining: 58 });
});

test('a window with nothing left and no reset causes no wait', () => {
  const state = history({ take: START }, seen(START, { remaining: 0, reset: undefined }));
  expect(admit(state, START + 10)).toEqual(PLAIN);
});

test('a reset of more than 33 days ahead is ignored', () => {
  const state = history({ take: START }, seen(START, { remaining: 0, ...serverReset(34 * 86_400_000) }));
  expect(state.window).toBeUndefined();
});

test('late responses can only reduce what is left of a window', () => {
  const state = history({ take: START }, seen(START, { remaining: 6 }));
  for (const id of ['a', 'b', 'c']) ticket(state, START + 1, id);
  // The service counted them in this order; the response to the first comes last.
  respond(state, 'b', seen(START + 10, { remaining: 4 }));
  respond(state, 'c', seen(START + 11, { remaining: 3 }));
  respond(state, 'a', seen(START + 12, { remaining: 5 }));
  expect(state.window?.remaining).toBe(3);
});

test('a response without headers reduces what is left of the known window by one', () => {
  const state = history({ take: START }, seen(START, { remaining: 6 }), { take: START + 1 }, bare(START + 2));
  expect(state.window?.remaining).toBe(5);
});

test('a successful probe without headers after the end of a window drops the window', () => {
  const windowEnded = (): KeyState => history({ take: START }, seen(START), { take: START + 61_001 });
  const state = windowEnded();
  respond(state, 't2', bare(START + 61_100));
  expect(state.window).toBeUndefined();
  const failed = windowEnded();
  respond(failed, 't2', bare(START + 61_100, { status: 502 }));
  expect(failed.window).toBeDefined();
});

test('a request without a response counts against the window until a later request reports what is left', () => {
  const state = history({ take: START }, seen(START, { remaining: 3 }));
  for (const id of ['lost', 'dead', 'unsent']) ticket(state, START + 1, id);
  for (const how of ['lost', 'dead', 'unsent'] as const) reduce(state, { kind: 'closed', at: START + 5, id: how, how });
  expect(grants(state, 10)).toBe(1);
  respond(state, 'n10-0', seen(START + 20, { remaining: 2 }));
  expect([state.unanswered, grants(state, 30)]).toEqual([[], 2]);
});

test('an unclosed ticket counts as in flight until its lease ends, and then as a request without a response', () => {
  const state = history({ take: START }, seen(START, { remaining: 1, limit: 2 }), { take: START + 1 });
  expect(admit(state, START + 1 + LEASE)).toEqual(PENDING);
  expect(admit(state, START + 2 + LEASE)).toEqual(usedUpUntil(61_000));
});

test(`at most ${RULES.unconfirmedKept} requests without a response are remembered`, () => {
  const state = history({ take: START }, seen(START, { remaining: 5000, limit: 5000 }));
  for (let id = 0; id < RULES.unconfirmedKept + 5; id++) {
    ticket(state, START + 1, `x${id}`);
    reduce(state, { kind: 'closed', at: START + 2, id: `x${id}`, how: 'lost' });
  }
  expect(state.unanswered).toHaveLength(RULES.unconfirmedKept);
});

test('a window ends one unit of its reset after the reset, and then one probe is sent', () => {
  const state = history({ take: START }, seen(START, { remaining: 0 }));
  expect(admit(state, START + 60_999)).toEqual(usedUpUntil(61_000));
  expect(admit(state, START + 61_000)).toEqual(PROBE);
  ticket(state, START + 61_000, 'probe');
  respond(state, 'probe', seen(START + 61_010, { remaining: 59, ...serverReset(121_000) }));
  expect(grants(state, 61_020)).toBe(59);
});

test('the probe after a reset waits until it and the late requests fit into the new window', () => {
  const state = history({ take: START }, seen(START, { limit: 1, remaining: 1 }), { take: START + 59_000 });
  expect(admit(state, START + 61_500)).toEqual(PENDING);
});

test('without a reported limit the probe after a block waits for late requests', () => {
  const state = history({ take: START }, bare(START));
  for (const id of ['early', 'late']) ticket(state, START + 1, id);
  respond(state, 'early', refused(START + 10));
  expect(admit(state, START + 5010)).toEqual(PENDING);
  reduce(state, { kind: 'closed', at: START + 5020, id: 'late', how: 'lost' });
  expect(admit(state, START + 5020)).toEqual(PROBE);
});

test('a used-up window is reported immediately even if a request is in flight', () => {
  const state = history({ take: START }, seen(START, { remaining: 2 }));
  for (const id of ['a', 'b']) ticket(state, START + 1, id);
  respond(state, 'b', seen(START + 10, { remaining: 0 }));
  expect(admit(state, START + 20)).toEqual(usedUpUntil(61_000));
});

test('a late request that counts after the probe reduces what is left even if its response arrives first', () => {
  const next = { reset: { at: START + 120_000, clock: 'local', resolution: 1000 } } as const;
  const state = history({ take: START }, seen(START));
  ticket(state, START + 59_000, 'late');
  ticket(state, START + 62_000, 'probe');
  respond(state, 'late', seen(START + 62_100, { remaining: 58, ...next }));
  respond(state, 'probe', seen(START + 62_200, { remaining: 59, ...next }));
  expect(state.window?.remaining).toBe(58);
});

test('a late response of the previous window changes nothing', () => {
  const state = history({ take: START }, seen(START, serverReset(10_000)), { take: START + 9000 });
  ticket(state, START + 11_500, 'next');
  respond(state, 'next', seen(START + 11_600, { remaining: 59, ...serverReset(70_000) }));
  respond(state, 't2', seen(START + 11_700, { remaining: 3, ...serverReset(10_000) }));
  expect(state.window).toMatchObject({ remaining: 59, resetAt: START + 70_000 });
});

test('a late response does not restore quota that others used, if resets move', () => {
  const reading = (at: number, remaining: number, ms: number): Observation =>
    seen(START + at, { limit: 10, remaining, ...serverReset(ms, 1) });
  const state = history({ take: START }, reading(0, 9, 5000));
  for (const id of ['x', 'y']) ticket(state, START + 4000, id);
  respond(state, 'y', reading(4100, 0, 5400));
  respond(state, 'x', reading(5460, 1, 5600));
  expect(state.window?.remaining).toBe(0);
});

test('the response to a probe replaces the window if quota returns gradually', () => {
  const state = history({ take: START }, seen(START, { remaining: 0, ...serverReset(1000) }), { take: START + 2000 });
  respond(state, 't2', seen(START + 2010, { remaining: 10, ...serverReset(2200) }));
  expect(state.window?.remaining).toBe(10);
});

// Two windows of `ms` in a row; the first request of the second one opens it.
function twoWindows(ms: number, more: Partial<Observation> = {}): KeyState {
  const state = history({ take: START }, seen(START, { limit: 10, remaining: 0, ...serverReset(ms) }));
  const at = ms + 1000;
  ticket(state, START + at, 'probe');
  respond(state, 'probe', seen(START + at, { limit: 10, remaining: 9, ...serverReset(2 * ms + 1000), ...more }));
  for (let left = 8; left >= 0; left--) {
    ticket(state, START + at + 1, `n${left}`);
    respond(state, `n${left}`, seen(START + at + 2, { limit: 10, remaining: left, ...serverReset(2 * ms + 1000) }));
  }
  return state;
}

test('the probe after the second of two brief windows is sent 50 ms after the reset', () => {
  expect(admit(twoWindows(5000), START + 7000)).toEqual(usedUpUntil(11_050));
  expect(admit(twoWindows(9000), START + 11_000)).toEqual(usedUpUntil(19_050));
  expect(admit(twoWindows(11_000), START + 13_000)).toEqual(usedUpUntil(24_000));
});

test('a brief window that was partly used before its probe keeps the full guard', () => {
  expect(admit(twoWindows(5000, { remaining: 8 }), START + 7000)).toEqual(usedUpUntil(12_000));
});

test('one refused probe after the reset of a brief window restores the full guard permanently', () => {
  const state = twoWindows(5000);
  ticket(state, START + 11_050, 'early');
  respond(state, 'early', refused(START + 11_060, { limit: 10, remaining: 0, waitMs: 1000, ...serverReset(11_000) }));
  expect(state.roundsDown).toBe(true);
  const at = state.block?.until ?? 0;
  const reset = { at: at + 5000, clock: 'service', resolution: 1000 } as const;
  ticket(state, at, 'next');
  respond(state, 'next', seen(at, { limit: 10, remaining: 9, reset }));
  expect(state.window?.guardMs).toBe(1000);
});

test('the daily window is remembered next to the minute window', () => {
  const day = seen(START, { limit: 1000, remaining: 500, ...serverReset(9 * 3_600_000) });
  const state = history({ take: START }, seen(START), { take: START + 1 }, day, { take: START + 2 });
  expect(state.daily).toMatchObject({ limit: 1000, remaining: 500 });
  expect(history({ take: START }, seen(START)).daily).toBeUndefined();
});

test("the bounds of the service's clock are intersected, replaced if a clock is set, and expire", () => {
  const offset = (lo: number, hi: number, at: number) => seen(START + at, { offset: { lo, hi } });
  const state = history({ take: START }, offset(0, 1000, 0), { take: START + 10 }, offset(200, 1100, 10));
  expect(state.offset).toMatchObject({ lo: 200, hi: 1000 });
  ticket(state, START + 20, 'set');
  respond(state, 'set', offset(3000, 4000, 20));
  expect(state.offset).toMatchObject({ lo: 3000, hi: 4000 });
  ticket(state, START + 700_000, 'later');
  respond(state, 'later', offset(2900, 4100, 700_000));
  expect(state.offset).toMatchObject({ lo: 2900, hi: 4100 });
});

test("a reset is converted to local time with the bound of the service's clock that gives the longer wait", () => {
  const state = history({ take: START }, seen(START, { offset: { lo: -300, hi: 700 }, ...serverReset(5000) }));
  expect(state.window?.resetAt).toBe(START + 5300);
});

test("a window stays the same if a response narrows the bounds of the service's clock", () => {
  const reading = (remaining: number, lo: number): Observation =>
    seen(START + 2000, { remaining, offset: { lo, hi: 1000 }, ...serverReset(5000) });
  const state = history({ take: START }, reading(9, -2000), { take: START + 2000 }, reading(8, 0));
  expect(state.window).toMatchObject({ remaining: 8, resetAt: START + 5000 });
});

test('after a clock was set back by an hour, the rest of a block is kept once and all else is learned again', () => {
  const late = START + 3_600_000;
  const state = history({ take: late }, seen(late, serverReset(3_700_000)), { take: late });
  respond(state, 't2', refused(late, { waitMs: 30_000 }));
  reduce(state, { kind: 'clock', at: START });
  reduce(state, { kind: 'clock', at: START + 5 });
  expect(state).toMatchObject({ time: START, window: undefined, tickets: {} });
  expect(admit(state, START + 29_999)).toEqual(blockedUntil(30_000));
  expect(admit(state, START + 30_000)).toEqual(PROBE);
});

test('`quota --clear` removes blocks and windows and keeps requests in flight', () => {
  const state = history({ take: START }, refused(START), { take: START + 5000 });
  reduce(state, { kind: 'forget', at: START + 5001 });
  expect(state).toMatchObject({ block: undefined, verified: false, tickets: { t2: {} } });
  expect(admit(state, START + 5002)).toEqual(PENDING);
});

test('idle time between two refusals does not widen the gap', () => {
  const state = history({ take: START }, refused(START, silent), { take: START + 3_600_000 });
  respond(state, 't2', refused(START + 3_600_000, silent));
  expect(state.pace.widestMs).toBe(1000);
});

// Plays rounds in which every granted request succeeds, and returns how many were granted in each.
function rounds(state: KeyState, count: number, from = 10): number[] {
  return Array.from({ length: count }, (_, round) => {
    const at = from + 10 * round;
    const granted = grants(state, at);
    for (let id = 0; id < granted; id++) respond(state, `n${at}-${id}`, bare(START + at + 5));
    return granted;
  });
}

test('without headers concurrency starts at one and grows by one request for each round of successes', () => {
  expect(rounds(history({ take: START }, bare(START)), 5)).toEqual([2, 2, 3, 4, 5]);
});

test('an unexplained refusal halves the requests in flight, which then grow by an eighth for each round', () => {
  const state = history({ take: START }, bare(START));
  rounds(state, 8);
  expect(grants(state, 200)).toBe(8);
  respond(state, 'n200-0', refused(START + 205, statedWait(1)));
  for (let id = 1; id < 8; id++) respond(state, `n200-${id}`, bare(START + 210));
  ticket(state, START + 1300, 'probe');
  respond(state, 'probe', bare(START + 1310));
  expect(rounds(state, 10, 1320)).toEqual([4, 4, 4, 4, 4, 4, 4, 4, 4, 5]);
});

test('a window that is open is never spaced', () => {
  const state = history({ take: START }, seen(START), { take: START + 1 }, refused(START + 2, statedWait(1)));
  ticket(state, START + 1002, 'probe');
  respond(state, 'probe', seen(START + 1010, { remaining: 50 }));
  state.pace = { ...state.pace, step: RULES.gapSteps, widestMs: 60_000, passed: 1, heardAt: START + 1010 };
  expect(admit(state, START + 1011)).toEqual(PLAIN);
});

test('a refusal that the window explains does not change the pace', () => {
  const state = history({ take: START }, bare(START));
  rounds(state, 4);
  const { pace } = state;
  ticket(state, START + 100, 'late');
  const exhausted = { limit: 60, remaining: 0, waitMs: 5000, waitFrom: 'reset', ...serverReset(5000) } as const;
  respond(state, 'late', refused(START + 110, exhausted));
  expect(state.pace).toEqual(pace);
});

test('a gap is reported as a block until the next request may be sent', () => {
  const state = history({ take: START }, bare(START));
  state.pace = { ...state.pace, step: RULES.gapSteps, widestMs: 3000 };
  expect(admit(state, START + 2999)).toEqual(blockedUntil(3000));
  expect(ticket(state, START + 3000, 'next')).toEqual(PLAIN);
  expect(admit(state, START + 6000)).toEqual(PENDING);
});
