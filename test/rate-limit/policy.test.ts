// The policy: blocks after refusals, windows and their ends, requests without a response, and the concurrency without headers.
import { expect, test } from 'vitest';
import type { KeyState, RateLimitReading } from '../../src/rate-limit/key-state.ts';
import { initialState } from '../../src/rate-limit/key-state.ts';
import { reduce } from '../../src/rate-limit/policy.ts';
import { RULES } from '../../src/rate-limit/rules.ts';
import { grants, LEASE, play, refused, respond, START, ticket } from '../support/records.ts';

// Sends a probe whenever the block is over; each is refused. Returns the waits in seconds.
function waitsOf(state: KeyState, ...refusals: readonly Partial<RateLimitReading>[]): number[] {
  let now = Math.max(START, state.time);
  return refusals.map((refusal, i) => {
    ticket(state, now, `probe${i}`);
    respond(state, now, `probe${i}`, refused(refusal));
    const wait = (state.block?.until ?? 0) - now;
    now += wait;
    return wait / 1000;
  });
}

const silent = { waitMs: undefined, waitFrom: 'backoff' } as const;
const statedWait = (seconds: number): Partial<RateLimitReading> => ({ waitMs: seconds * 1000 });

test.each<[string, Partial<RateLimitReading>[], number[]]>([
  ['without headers, the backoff doubles, up to a minute', Array(8).fill(silent), [1, 2, 4, 8, 16, 32, 60, 60]],
  ['a Retry-After of 0 states no wait, so the backoff doubles', Array(4).fill(statedWait(0)), [1, 2, 4, 8]],
  ['consecutive refusals multiply a stated wait by at most four', Array(5).fill(statedWait(1)), [1, 2, 4, 4, 4]],
  ['a wait is the longer of the backoff and the stated wait', [30, 30, 1, 10, 3].map(statedWait), [30, 30, 4, 10, 12]],
  ['a stated wait of a tenth of a second is extended to a second', Array(3).fill(statedWait(0.1)), [1, 1, 1]],
  ['no header blocks a key for longer than 25 hours', [statedWait(3_000_000)], [25 * 3600]],
])('%s', (_title, refusals, waits) => {
  expect(waitsOf(initialState(), ...refusals)).toEqual(waits);
});

test.each([
  [2000, 100],
  [40_000, 1000],
])('jitter lengthens a wait of %i ms by at most %i ms', (waitMs, most) => {
  for (const draw of [0, 1, 500, 999]) {
    const state = play('0 take a');
    respond(state, START, 'a', refused({ waitMs }), draw);
    expect((state.block?.until ?? 0) - START).toBe(waitMs + Math.round((most * draw) / 1000));
  }
});

test('only a success resets the count of consecutive refusals', () => {
  const [state, later] = [initialState(), initialState()];
  for (const one of [state, later]) waitsOf(one, silent, silent, silent);
  expect(play('7000 take a, 7010 bare a', state).block).toBeUndefined();
  expect(waitsOf(state, silent)).toEqual([1]);
  expect(play(`67000 take a, 67000 429 a ${SILENT}`, later).block).toMatchObject({ refusals: 4 });
});

const OPEN = '0 take first, 0 ok first';
const BARE = '0 take first, 0 bare first';
/** `early` and `late` are in flight together, and `early` gets a 429 that states a wait of 1 s. */
const REFUSED = `${OPEN}, 1 take early late, 100 429 early wait=1000`;
const SILENT = 'wait=none from=backoff';
/** A refusal because the quota is exhausted. */
const exhausted = (at: number, id: string, ms: number): string =>
  `${at} 429 ${id} limit=60 left=0 wait=${ms} from=reset reset=${at + ms}`;

/** The title of a test in one line, and its history in indented lines. */
const HISTORIES = `
a 429 that states a reset but no wait blocks until one second after the reset
  0 take a, ${exhausted(0, 'a', 5000)}, 0 is blocked 6000, 0 has block.reason=reset
refusals of requests that were in flight together count as one, and the block lasts until the last of their waits ends
  ${OPEN}, 1 take a b c, 20 429 a wait=8000, 21 429 b wait=7000, 22 429 c wait=1000, 23 is blocked 8020,
  23 has block.refusals=1 block.reason=retry_after
a refusal that arrives late and states no wait does not prolong a doubled wait
  ${OPEN}, 1 take early late, 10 429 early ${SILENT}, 1010 take probe, 1010 429 probe ${SILENT}, 1020 429 late ${SILENT},
  1020 is blocked 3010
the refusal of a request whose ticket has expired causes a wait, but does not count as another refusal
  ${REFUSED}, 40000 429 x wait=9000, 40001 429 y wait=1000, 40002 is blocked 49000, 40002 has block.refusals=1
the refusal of a request whose ticket has expired does not reduce the concurrency
  ${BARE}, 10 429 x, 10 has concurrency=2 hasHiddenLimit=false
a refusal with an exhausted quota and no reset reduces the concurrency, but not below one
  ${BARE}, 1 take a, 2 429 a left=0 wait=1000, 2 has concurrency=1 hasHiddenLimit=true, 1002 take b, 1003 bare b, 1004 is plain
the success of a probe does not end a block that a late refusal extended
  ${REFUSED}, 1100 is probe, 1100 take probe, 1200 429 late wait=60000, 1300 ok probe, 61199 is blocked 61200, 61200 is probe
the late success of a request sent before a refusal does not end the block
  ${REFUSED}, 120 ok late, 130 is blocked 1100
one probe is sent after a block, and its success opens the window
  0 take a, 0 429 a limit=60 left=0 reset=9000, 4999 is blocked 5000, 5000 is probe, 5000 take probe, 5000 allows probe,
  5001 is pending, 5010 ok probe, 5020 grants 59
before the first response, only one request is in flight, and then as many as the quota allows
  0 take a, 0 is pending, 10 ok a left=5, 10 grants 5, 20 is pending, 30 ok n10-0 n10-1 n10-2 n10-3 left=1,
  30 ok n10-4 left=0, 40 is window 61000
a probe without a response delays other requests for 5 s, and no longer counts once a later request gets a response
  0 take a, 5000 is pending, 5001 is probe, 5001 take b, 10001 is pending, 10001 ok b left=5, 10002 grants 5
the response to a later request replaces the window, even if it reports another limit and an earlier reset
  ${OPEN} limit=1e9 left=1e9, 30 take next, 40 ok next left=58 reset=10000, 40 has window.limit=60 window.remaining=58
an exhausted window without a reset causes no wait
  ${OPEN} left=0 reset=none, 10 is plain
resets that differ by less than two seconds belong to one window
  ${OPEN} left=6, 1 take a b, 10 ok a left=5, 11 ok b left=9 reset=61500, 12 grants 5
late responses can only reduce the remaining quota of a window and postpone its reset
  ${OPEN} left=6, 1 take a b, 10 ok b left=5 reset=61000, 11 take c, 12 ok a left=3 reset=61500, 13 ok c left=4,
  14 grants 3, 15 lost n14-0 n14-1 n14-2, 16 is window 62500
a slow response does not restore quota, even if its reset seems to be later
  ${OPEN} left=9, 1 take slow, 2 take next, 10 ok next left=7, 4001 ok slow left=8 reset=63900, 4002 grants 7
a response of the next window replaces an exhausted window, even if requests of both were in flight together
  ${OPEN} left=2 reset=10000, 1 take a b, 2 ok a left=0 reset=10000, 10500 ok b left=50 reset=70000, 10501 grants 50
the response to a request whose ticket has expired does not restore quota
  ${OPEN} left=3, 10 ok x left=50 reset=63000, 11 grants 3
the response to a request whose ticket has expired opens a window that begins after the known one
  ${OPEN} left=0 reset=10000, 20000 ok x left=50 reset=70000, 20001 grants 50
a response without headers reduces the remaining quota of the known window by one, but not below zero
  ${OPEN} left=6, 1 take a b c, 2 bare a, 2 has window.remaining=5, 3 ok b left=0, 4 bare c, 4 has window.remaining=0
after the end of a window, a probe that got a success without headers drops the window
  ${OPEN}, 61001 take a, 61100 bare a, 61100 has window=none
after the end of a window, a probe that got a server error without headers keeps the window
  ${OPEN}, 61001 take a, 61100 bare a status=502, 61100 has window.limit=60
a request without a response counts against the window until the response to a later request shows the quota
  ${OPEN} left=3, 1 take a b c, 5 lost a b, 5 unsent c, 10 grants 1, 20 ok n10-0 left=2, 30 grants 2, 30 has lost.length=0
a request waits for a response that may show that a lost request did not count
  ${OPEN} left=3, 1 take a b c, 2 lost a, 3 ok b left=1, 4 is pending, 5 lost c, 6 is window 61000
the response to a request whose ticket has expired does not show whether a lost request has counted
  ${OPEN} left=5, 1 take a, 5 lost a, 10 ok x left=4, 11 grants 3
the response to a request sent at the moment of a loss does not show whether the lost request has counted
  ${OPEN} left=4, 1 take a b, 5 lost a, 5 take c, 5 ok c left=3, 5 lost b, 6 has lost.length=2
an overdue request that is counted in a later response does not count again after its timeout
  ${OPEN} left=3, 1 take slow early, 6000 take a, 6010 ok a left=1, 6020 ok early left=2, 30000 lost slow, 30010 grants 1
a request in flight is unanswered after 5 s, and counts against the window even after its ticket has expired
  ${OPEN} left=1 limit=2, 1 take a, 5001 is pending, 5002 is window 61000,
  ${2 + LEASE} unsent x, ${2 + LEASE} is window 61000
a window ends one second after its reset, and then one probe is sent and opens the next window
  ${OPEN} left=0, 60999 is window 61000, 61000 is probe, 61000 take probe, 61010 ok probe reset=121000, 61020 grants 59
the probe after a reset waits while it and the late requests do not fit into the new window
  ${OPEN} limit=1 left=1, 59000 take late, 61500 is pending
without a reported limit, the probe after a block waits for late requests
  ${BARE}, 1 take early late, 10 429 early wait=1000, 1010 is pending, 1020 lost late, 1020 is probe
requests wait for the end of an exhausted window even if another request is in flight
  ${OPEN} left=2, 1 take a b, 10 ok b left=0, 20 is window 61000
a late response of the previous window changes nothing
  ${OPEN} reset=10000, 9000 take late, 11500 take next, 11600 ok next reset=70000, 11700 ok late left=3 reset=10000,
  11701 grants 59
after a block, another probe follows a probe that got a server error without headers
  0 take a, 0 429 a limit=60 left=0 reset=300000 wait=2000, 2000 take probe, 2010 bare probe status=502, 2020 is probe
after a block, no other probe follows a probe that got a server error with headers
  0 take a, 0 429 a wait=2000, 2000 take probe, 2010 ok probe status=502 left=5, 2020 is plain
a server error does not reset the count of consecutive refusals
  ${BARE}, 1 take a, 2 429 a ${SILENT}, 1002 take b, 1003 bare b status=502, 1004 take c, 1005 429 c ${SILENT},
  1005 has block.refusals=2
server errors do not raise the concurrency
  ${BARE}, 1 take a b, 2 bare a b status=502, 3 take c d, 4 bare c d status=502, 5 grants 2
a window of an hour is not remembered as the daily window
  ${OPEN} reset=3600000, 0 has daily=none
\`quota --clear\` removes blocks and windows and keeps requests in flight
  0 take a, 0 429 a left=50 reset=60000, 5000 take b, 5001 forget, 5002 is pending,
  5002 has block=none window=none needsProbe=true
the reason for a block is the backoff if the backoff is longer than the stated wait
  0 take a, 0 429 a wait=500, 0 is blocked 1000, 0 has block.reason=backoff, 1000 take b, 1000 429 b wait=2000,
  1000 is blocked 3000, 1000 has block.reason=retry_after
a record that is older than the record before it gets the time of that record
  0 take a, 100 ok a, 50 take b, 50 has time=${START + 100}
a ticket counts once even if a state server has its record twice
  ${OPEN}, 1 take a, 2 take a, 2 has tickets.length=1
a ticket allows its request for 5 s, except during a block
  ${REFUSED}, 1099 withdraws late, 1100 allows late, 1100 withdraws early, 5001 allows late, 5002 withdraws late
after a response with an exhausted quota, a ticket allows no request until the end of the window
  ${OPEN} left=5, 59500 take a b, 59510 ok a left=0, 59520 withdraws b, 60999 withdraws b, 61000 allows b,
  61001 unsent b, 61001 take probe, 61001 allows probe
`;
const cases = HISTORIES.trim()
  .split(/\n(?! )/)
  .map((text) => text.split('\n'));

test.each(cases)('%s', (_title, ...history) => {
  expect.hasAssertions();
  play(history.map((line) => line.trim()).join(' '));
});

test(`at most ${RULES.lostKept} requests without a response are remembered`, () => {
  const state = play(`${OPEN} left=5000 limit=5000`);
  for (let id = 0; id < RULES.lostKept + 5; id++) play(`1 take x${id}, 2 lost x${id}`, state);
  expect(state.lost).toHaveLength(RULES.lostKept);
});

test('after a clock was set back by an hour, the rest of a block is kept and everything else is forgotten', () => {
  const late = 3_600_000;
  const state = play(`${late} take a, ${late} ok a reset=3700000, ${late} take b, ${late} 429 b wait=30000`);
  // A time server may correct a clock by this much.
  reduce(state, { kind: 'clock' }, START + late - RULES.clockStepMs);
  expect(state.window).toBeDefined();
  reduce(state, { kind: 'clock' }, START);
  reduce(state, { kind: 'clock' }, START + 5);
  expect(state).toMatchObject({ time: START, window: undefined, tickets: [], block: { since: START } });
  play('29999 is blocked 30000, 30000 is probe', state);
});

// Plays rounds in which every granted request succeeds, and returns the number of grants in each.
function rounds(state: KeyState, count: number, from = 10): number[] {
  return Array.from({ length: count }, (_, round) => {
    const at = from + 10 * round;
    const granted = grants(state, START + at);
    for (let id = 0; id < granted; id++) play(`${at + 5} bare n${at}-${id}`, state);
    return granted;
  });
}

test('without headers, each round of successes raises the concurrency by about one request', () => {
  expect(rounds(play(BARE), 5)).toEqual([2, 2, 3, 4, 5]);
});

test('an unexplained refusal halves the concurrency, which then grows by about an eighth of a request per round', () => {
  const state = play(BARE);
  rounds(state, 8);
  play('200 grants 8, 205 429 n200-0 wait=1000', state);
  for (let id = 1; id < 8; id++) play(`210 bare n200-${id}`, state);
  play('1300 take probe, 1310 bare probe', state);
  expect(rounds(state, 10, 1320)).toEqual([4, 4, 4, 4, 4, 4, 4, 4, 4, 5]);
});

test('a refusal that an open window does not explain halves the number of requests in flight', () => {
  const state = play(OPEN);
  play('3 take a b c d e f g h, 10 429 a wait=1000, 20 lost b c d e f g h, 1010 take probe, 1020 ok probe', state);
  play('1030 grants 4', state);
});

test('a refusal that an exhausted window explains does not change the concurrency', () => {
  const state = play(BARE);
  rounds(state, 4);
  const { concurrency } = state;
  play(`100 take late, ${exhausted(110, 'late', 5000)}`, state);
  expect(state).toMatchObject({ concurrency, hasHiddenLimit: false });
});
