// Ledger records for tests: a sequence of tickets and responses, reduced to a state.

import type { Observation } from '../../src/rate-limit/ledger-record.ts';
import { formatRecord } from '../../src/rate-limit/ledger-record.ts';
import type { LedgerState } from '../../src/rate-limit/ledger-state.ts';
import { initialState } from '../../src/rate-limit/ledger-state.ts';
import { ledgerFormat } from '../../src/rate-limit/reducer.ts';

/** When every story begins, epoch milliseconds. */
export const START = 1_795_262_400_000;
/** How long a ticket counts, milliseconds. */
export const LEASE = 30_000;

/** A reply at `at`, 59 of 60 left for a minute unless said otherwise. */
export const seen = (at: number, more: Partial<Observation> = {}): Observation => ({
  at,
  status: 200,
  limit: 60,
  remaining: 59,
  reset: { at: START + 60_000, clock: 'local', resolution: 1000 },
  offset: undefined,
  waitMs: undefined,
  waitFrom: 'retry-after',
  lastAttempt: false,
  jitterDraw: 0,
  ...more,
});

/** Writes tickets and replies in a row; a reply answers the ticket before it. */
export function fold(...steps: ({ take: number } | Observation | { text: string })[]): LedgerState {
  const state = initialState();
  let id = 0;
  for (const one of steps) {
    if ('take' in one) ledgerFormat.apply(state, `T ${one.take} t${++id} 1 1 h ${LEASE}`);
    else if ('text' in one) ledgerFormat.apply(state, one.text);
    else ledgerFormat.apply(state, formatRecord({ kind: 'reply', at: one.at, id: `t${id}`, observation: one }));
  }
  return state;
}

/** A 429 that tells nothing but a wait of 5 s. */
export const refused = (at: number, more: Partial<Observation> = {}): Observation =>
  seen(at, { status: 429, limit: undefined, remaining: undefined, reset: undefined, waitMs: 5000, ...more });

/**
 * Writes a ticket into a state.
 * @param state changed in place
 * @param at when it is asked for, epoch milliseconds
 * @param id its id
 * @param rest as `admit` takes it
 */
export function ticket(state: LedgerState, at: number, id: string, rest?: number): void {
  const holder = { pid: 1, start: 1, host: 'h', leaseMs: LEASE };
  ledgerFormat.apply(state, formatRecord({ kind: 'ticket', at, id, ...holder, rest }));
}

/**
 * Writes a reply into a state.
 * @param state changed in place
 * @param id the ticket that it answers
 * @param observation what it says
 */
export function told(state: LedgerState, id: string, observation: Observation): void {
  ledgerFormat.apply(state, formatRecord({ kind: 'reply', at: observation.at, id, observation }));
}
