// Whether one more request may be sent: decided from the state and the time alone, so that all processes decide alike.
import type { LedgerState } from './ledger-state.ts';
import { liveWindows, offsetLo } from './ledger-state.ts';
import { RULES } from './rules.ts';
import { lastRequestAt, reserveOf, windowEnd } from './window.ts';

/** Whether a request may be sent now. A canary goes alone: its response says where the key stands. */
export type Admission = { readonly granted: true; readonly canary: boolean } | Denied;

/** Not before `until`, by a 429 or its pace (`blocked`) or by a window's reset; or not before the response to a request in flight. */
export type Denied =
  | { readonly granted: false; readonly reason: 'blocked' | 'window'; readonly until: number }
  | { readonly granted: false; readonly reason: 'sibling' };

const SIBLING: Denied = { granted: false, reason: 'sibling' };

/**
 * Decides whether one more request may be sent. It changes nothing, so a look never makes processes disagree.
 * @param t epoch milliseconds, not before `state.time`
 * @param bulk whether it is one of many requests, which leave room for others who use the key elsewhere
 */
export function admit(state: LedgerState, t: number, bulk = false): Admission {
  const { block } = state;
  if (block && t < block.until) return { granted: false, until: block.until, reason: 'blocked' };
  const inFlight = inFlightAt(state, t);
  if (inFlight.canary) return SIBLING;
  const next = nextByPace(state, t);
  if (next > t) return { granted: false, until: next, reason: 'blocked' };
  if (!state.verified) return asCanary(state, inFlight.count);
  const leading = state.short ?? state.long;
  // Where no header announces a limit, as many may be in flight as have succeeded at once.
  if (!leading) return inFlight.count < Math.floor(state.pace.concurrency) ? { granted: true, canary: false } : SIBLING;
  if (t >= windowEnd(leading, offsetLo(state))) return afterReset(state, t, inFlight);
  return inWindows(state, t, bulk, inFlight);
}

interface InFlight {
  readonly count: number;
  /** Requests that may have counted although no response came. */
  readonly unconfirmed: number;
  readonly canary: boolean;
}

function inFlightAt(state: LedgerState, t: number): InFlight {
  const open = [...state.tickets.values()].filter((ticket) => t <= ticket.expires);
  const unconfirmed = state.unconfirmed.length + state.tickets.size - open.length;
  return { count: open.length, unconfirmed, canary: open.some((ticket) => ticket.canary) };
}

function nextByPace({ pace }: LedgerState, t: number): number {
  const { intervalMs, grantedAt, credit } = pace;
  if (intervalMs === undefined || credit > 0 || t - grantedAt > RULES.paceLifeMs) return t;
  return Math.ceil(grantedAt + Math.min(intervalMs, RULES.floorCapMs));
}

// Late requests of the window before may count in the new one: together they must fit.
function asCanary(state: LedgerState, inFlight: number): Admission {
  return inFlight < (state.lastHeaders?.limit ?? 1) ? { granted: true, canary: true } : SIBLING;
}

// The day goes on although the minute is over: what is known of it holds.
function afterReset(state: LedgerState, t: number, { count, unconfirmed }: InFlight): Admission {
  const { long } = state;
  const longEnd = long ? windowEnd(long, offsetLo(state)) : 0;
  if (long && t < longEnd && long.remaining - unconfirmed - count <= 0)
    return count > 0 ? SIBLING : { granted: false, until: longEnd, reason: 'window' };
  return asCanary(state, count);
}

function inWindows(state: LedgerState, t: number, bulk: boolean, { count, unconfirmed }: InFlight): Admission {
  let until = 0;
  let room = Number.POSITIVE_INFINITY;
  let canary = false;
  for (const window of liveWindows(state, t)) {
    const left = window.remaining - unconfirmed - (bulk ? reserveOf(window) : 0);
    room = Math.min(room, left - count);
    // An unconfirmed request may be settled by a response in flight; what is used up stays so until the reset.
    const settled = unconfirmed === 0 || count === 0;
    if (left <= 0 && settled) until = Math.max(until, windowEnd(window, offsetLo(state)));
    const last = left - count === 1 ? lastRequestAt(window, offsetLo(state), bulk) : undefined;
    if (last === undefined) continue;
    // Responses out of order make less of what is left: which request is the last shows when all are here.
    if (t >= last) canary = true;
    else if (count > 0) return SIBLING;
    else until = Math.max(until, last);
  }
  if (room >= 1 && until === 0) return { granted: true, canary };
  return until > t ? { granted: false, until, reason: 'window' } : SIBLING;
}
