// Ledger records for tests: sequences of tickets and responses, reduced to a state.
import type { Observation } from '../../src/rate-limit/ledger-record.ts';
import type { Admission, KeyState } from '../../src/rate-limit/policy.ts';
import { admit, initialState, reduce } from '../../src/rate-limit/policy.ts';

/** The start of every history, in epoch milliseconds. */
export const START = 1_795_262_400_000;
/** The lifetime of a ticket, in milliseconds. */
export const LEASE = 30_000;

/** A response at `at` with 59 of 60 left, in a window that ends at `START` + 1 min. */
export const seen = (at: number, more: Partial<Observation> = {}): Observation => ({
  at,
  status: 200,
  refused: false,
  limit: 60,
  remaining: 59,
  reset: { at: START + 60_000, clock: 'local', resolution: 1000 },
  waitFrom: 'backoff',
  ...more,
});

const NO_HEADERS = { limit: undefined, remaining: undefined, reset: undefined };

/** A success without rate-limit headers. */
export const bare = (at: number, more: Partial<Observation> = {}): Observation => seen(at, { ...NO_HEADERS, ...more });

/** A 429 with a wait of 5 s and no rate-limit headers. */
export const refused = (at: number, more: Partial<Observation> = {}): Observation =>
  bare(at, { status: 429, refused: true, waitMs: 5000, waitFrom: 'retry_after', ...more });

/** Reduces a ticket and returns its admission. */
export function ticket(state: KeyState, at: number, id: string, leaseMs = LEASE): Admission {
  reduce(state, { kind: 'ticket', at, id, pid: 1, start: '1', host: 'h', leaseMs });
  const granted = state.tickets[id];
  return granted ? { granted: true, probe: granted.probe } : admit(state, state.time);
}

/** Reduces the response to a ticket. */
export function respond(state: KeyState, id: string, observation: Observation, jitterDraw = 0): void {
  reduce(state, { kind: 'response', at: observation.at, id, seen: observation, jitterDraw });
}

/** Reduces tickets and responses; each response belongs to the preceding ticket. */
export function history(...steps: ({ take: number } | Observation)[]): KeyState {
  const state = initialState();
  let id = 0;
  for (const one of steps) {
    if ('take' in one) ticket(state, one.take, `t${++id}`);
    else respond(state, `t${id}`, one);
  }
  return state;
}
