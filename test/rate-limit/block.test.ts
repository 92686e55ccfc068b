// Blocks after 429s: the floor, what the 429 states, and 429s that cross one another.
import { expect, test } from 'vitest';
import { admit } from '../../src/rate-limit/admission.ts';
import type { Block } from '../../src/rate-limit/block.ts';
import { nextBlock } from '../../src/rate-limit/block.ts';
import type { Observation } from '../../src/rate-limit/ledger-record.ts';
import type { LedgerState } from '../../src/rate-limit/ledger-state.ts';
import { initialState } from '../../src/rate-limit/ledger-state.ts';
import { bare, history, refused, respond, START, seen, ticket } from '../support/records.ts';

const CANARY = { granted: true, canary: true };

// Sends a look whenever the wait is over; each is refused. Returns the waits in seconds.
function waitsOf(state: LedgerState, ...refusals: readonly Partial<Observation>[]): number[] {
  let now = Math.max(START, state.time);
  return refusals.map((refusal, i) => {
    ticket(state, now, `look${i}`);
    respond(state, `look${i}`, refused(now, refusal));
    const wait = (state.block?.until ?? 0) - now;
    now += wait;
    return wait / 1000;
  });
}

const silent = { waitMs: undefined, waitFrom: 'backoff' } as const;
const states = (seconds: number): Partial<Observation> => ({ waitMs: seconds * 1000 });

test.each<[string, Partial<Observation>[], number[]]>([
  ['no header: the floor doubles, up to a minute', Array(8).fill(silent), [1, 2, 4, 8, 16, 32, 60, 60]],
  ['a Retry-After of 0: the floor', Array(4).fill(states(0)), [1, 2, 4, 8]],
  ['a stated wait is never multiplied', Array(4).fill(states(30)), [30, 30, 30, 30]],
  ['the longer of floor and stated wait, each time', [3, 1, 10, 2].map(states), [3, 2, 10, 8]],
  ['no header blocks a key for longer than 25 hours', [states(3_000_000)], [25 * 3600]],
])('%s', (_title, refusals, waits) => {
  expect(waitsOf(initialState(), ...refusals)).toEqual(waits);
});

test('a success ends the row, and so does a minute without a 429', () => {
  const state = initialState();
  waitsOf(state, silent, silent, silent);
  const { until = 0 } = state.block ?? {};
  ticket(state, until, 'ok');
  respond(state, 'ok', bare(until + 10));
  expect(state.block).toBeUndefined();
  expect(waitsOf(state, states(1))).toEqual([1]);
  const later = initialState();
  waitsOf(later, silent, silent, silent);
  ticket(later, START + 70_000, 'later');
  respond(later, 'later', refused(START + 70_010, silent));
  expect(later.block).toMatchObject({ consecutive429s: 1, until: START + 71_010 });
});

test.each<[string, Partial<Observation>, number, number[]]>([
  ['begins one step below the end of the last row', silent, 1000, [2, 2, 4]],
  ['begins anew a minute later', silent, 60_001, [1, 2, 4]],
  ['begins anew where a wait is stated', states(1), 1000, [1, 2, 4]],
])('after a success the floor %s', (_title, refusal, afterMs, waits) => {
  const lastRow = { consecutive429s: 3, until: START };
  let at = START + afterMs;
  let block: Block | undefined;
  const found = waits.map((_, i) => {
    block = nextBlock(block, lastRow, refused(at, refusal), 2 * i + 2, 2 * i + 1, 0).block;
    const wait = block.until - at;
    at = block.until;
    return wait / 1000;
  });
  expect(found).toEqual(waits);
});

test('jitter only lengthens a wait, by a twentieth and a second at most', () => {
  for (const [waitMs, most] of [
    [2000, 100],
    [40_000, 1000],
  ] as const) {
    for (const jitterDraw of [0, 1, 500, 999]) {
      const { block } = history({ take: START }, refused(START, { waitMs, jitterDraw }));
      expect((block?.until ?? 0) - START).toBe(waitMs + Math.round((most * jitterDraw) / 1000));
    }
  }
});

test('a 429 that states its reset blocks until that reset has certainly passed', () => {
  const reset = { at: START + 5000, clock: 'server', resolution: 1000 } as const;
  const limited = refused(START, { limit: 60, remaining: 0, waitMs: 5000, waitFrom: 'reset', reset });
  expect(history({ take: START }, limited).block).toMatchObject({ until: START + 6000, reason: 'reset' });
});

test('what a 429 states beats the reset that earlier responses reported, of a minute or of the day', () => {
  const farther = { at: START + 480_000, clock: 'server', resolution: 1000 } as const;
  const nearer = { at: START + 2000, clock: 'server', resolution: 1000 } as const;
  const limited = refused(START + 10, { limit: 60, remaining: 0, waitMs: 2000, waitFrom: 'reset', reset: nearer });
  const state = history({ take: START }, seen(START, { remaining: 0, reset: farther }));
  // Granted before that response came.
  ticket(state, START, 'x');
  state.tickets.set('y', {
    ...(state.tickets.get('t1') ?? { seq: 0, at: START, expires: START + 9000, pid: 1, start: '', host: 'h' }),
    canary: false,
  });
  respond(state, 'y', limited);
  expect(state.block?.until).toBe(START + 3000);
  expect(admit(state, START + 3000)).toEqual(CANARY);
  ticket(state, START + 3000, 'look');
  respond(state, 'look', bare(START + 3010));
  // The look was served: the window that has nothing left is refuted.
  expect(admit(state, START + 10_000)).toMatchObject({ granted: true });
});

test('requests refused together count as one 429, and the longest wait holds', () => {
  const state = history({ take: START }, seen(START));
  for (let i = 0; i < 8; i++) ticket(state, START + 1, `e${i}`);
  for (let i = 0; i < 8; i++) respond(state, `e${i}`, refused(START + 20 + i, { waitMs: 1000 * (i + 1) }));
  expect(state.block).toMatchObject({ consecutive429s: 1, until: START + 27 + 8000 });
});

// `early` and `late` are sent together; `early` is refused for a second.
function refusedOnce(): LedgerState {
  const state = history({ take: START }, seen(START));
  for (const id of ['early', 'late']) ticket(state, START + 1, id);
  respond(state, 'early', refused(START + 100, { waitMs: 1000 }));
  return state;
}

test('a late 429 with a longer wait extends the block, and the success of a look before it lifts nothing', () => {
  const state = refusedOnce();
  ticket(state, START + 1100, 'look');
  respond(state, 'late', refused(START + 1200, { waitMs: 60_000 }));
  respond(state, 'look', seen(START + 1300));
  expect(admit(state, START + 61_199)).toEqual({ granted: false, reason: 'blocked', until: START + 61_200 });
  expect(admit(state, START + 61_200)).toEqual(CANARY);
});

test('a late 429 with a shorter wait shortens nothing', () => {
  const state = history({ take: START }, seen(START));
  for (const id of ['early', 'late']) ticket(state, START + 1, id);
  respond(state, 'early', refused(START + 100, { waitMs: 30_000 }));
  respond(state, 'late', refused(START + 110, { waitMs: 2000 }));
  expect(state.block).toMatchObject({ until: START + 30_100, consecutive429s: 1 });
});

test('a late success of an earlier request does not lift a block', () => {
  const state = refusedOnce();
  respond(state, 'late', seen(START + 120));
  expect(admit(state, START + 130)).toMatchObject({ granted: false, reason: 'blocked' });
});

test('after a block one request goes out to look', () => {
  const state = history({ take: START }, refused(START));
  expect(admit(state, START + 4999)).toEqual({ granted: false, until: START + 5000, reason: 'blocked' });
  expect(admit(state, START + 5000)).toEqual(CANARY);
  ticket(state, START + 5000, 'look');
  expect(admit(state, START + 5001)).toEqual({ granted: false, reason: 'sibling' });
});
