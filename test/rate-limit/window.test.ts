// The length of a window, which no header states.
import { expect, test } from 'vitest';
import type { LedgerRecord, Observation } from '../../src/rate-limit/ledger-record.ts';
import { initialState, reduce } from '../../src/rate-limit/policy.ts';
import { quotaView } from '../../src/rate-limit/quota-view.ts';

const START = 1_795_262_400_000;
const SECOND = 1000;

type Response = readonly [at: number, reset: number, limit?: number];

/** Reduces responses, given in seconds, and returns the window's length in seconds. */
function length(responses: readonly Response[]): number | undefined {
  const state = initialState();
  for (const [number, [at, reset, limit = 60]] of responses.entries()) {
    const id = `t${number}`;
    const ticket = { kind: 'ticket', at: START + at * SECOND, id, pid: 1, start: '', host: '', leaseMs: 30_000 };
    const seen: Observation = {
      at: START + at * SECOND,
      status: 200,
      refused: false,
      limit,
      remaining: limit - 1,
      reset: { at: START + reset * SECOND, clock: 'local', resolution: SECOND },
      waitFrom: 'backoff',
    };
    const response = { kind: 'response', at: seen.at, id, seen, jitterDraw: 0 };
    for (const record of [ticket, response]) reduce(state, record as LedgerRecord);
  }
  const { windowMs } = quotaView(state, START, true);
  return windowMs === undefined ? undefined : windowMs / SECOND;
}

test.each<[string, readonly Response[], number | undefined]>([
  [
    'one reset',
    [
      [10, 60],
      [20, 60],
    ],
    undefined,
  ],
  [
    'two resets, the second seen right after the first',
    [
      [10, 60],
      [61, 120],
    ],
    60,
  ],
  [
    'two resets with an idle time between',
    [
      [10, 60],
      [90, 150],
    ],
    undefined,
  ],
  [
    'an idle time after the length was seen',
    [
      [10, 60],
      [61, 120],
      [500, 540],
    ],
    60,
  ],
  [
    'a window of half an hour seen within three minutes',
    [
      [10, 1800],
      [1900, 3600],
    ],
    1800,
  ],
  [
    'a longer window after a shorter one',
    [
      [10, 60],
      [61, 120],
      [500, 2300],
    ],
    undefined,
  ],
  [
    'another limit',
    [
      [10, 60],
      [61, 120],
      [121, 180, 300],
    ],
    undefined,
  ],
  [
    'resets that move with each request',
    [
      [10, 60],
      [20, 70],
      [30, 80],
    ],
    undefined,
  ],
])('from %s the length of the window is as two successive resets show', (_what, responses, expected) => {
  expect(length(responses)).toBe(expected);
});
