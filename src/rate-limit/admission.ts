// Whether one more request may go: decided from the state and the time alone, so that all processes decide alike.

import type { LedgerState, Role } from './ledger-state.ts';
import { liveWindows, offsetLo } from './ledger-state.ts';
import { isWorthProbing, probeTime } from './probe.ts';
import { reserveOf, windowEnd } from './window.ts';

/** Whether a request may go now; if not, when to look again. */
export type Admission = { readonly granted: true; readonly role: Role } | Denied;

/** Not now: before `until`, which a 429 or a window gives; or until a request under way has told where we stand. */
export type Denied =
  | { readonly granted: false; readonly reason: 'blocked' | 'window'; readonly until: number }
  | { readonly granted: false; readonly reason: 'sibling' };

/**
 * Decides whether one more request may go. It changes nothing, so a look never makes processes disagree.
 * @param state what the records gave
 * @param t the time to decide for, epoch milliseconds; not before `state.time`
 * @param rest for one request of many, which leaves room for others who use the same key elsewhere: how many of them have
 *   no ticket yet, this one included; 0 where that is not known. Left out for a single request
 * @returns granted, or when to look again and why
 */
export function admit(state: LedgerState, t: number, rest?: number): Admission {
  if (state.block && t < state.block.until) return { granted: false, until: state.block.until, reason: 'blocked' };
  let inFlight = 0;
  let owed = state.unconfirmed.length;
  let asked = false;
  for (const ticket of state.tickets.values()) {
    if (t > ticket.expires) owed++;
    else inFlight++;
    asked ||= ticket.role !== 'plain' && t <= ticket.expires;
  }
  const again: Admission = { granted: false, reason: 'sibling' };
  if (needsCanary(state, t)) {
    const { long, verified } = state;
    const dayEnds = long ? windowEnd(long, offsetLo(state)) : 0;
    // The day goes on although the minute is over: what is known of it holds.
    if (long && verified && t < dayEnds && long.remaining - owed - inFlight <= 0)
      return inFlight > 0 ? again : { granted: false, until: dayEnds, reason: 'window' };
    // Late requests of the window before may count in the new one: together they must fit.
    const fits = inFlight < (state.lastHeaders?.limit ?? 1);
    return asked || !fits ? again : { granted: true, role: 'canary' };
  }
  let full = 0;
  let room = Number.POSITIVE_INFINITY;
  let role: Role = 'plain';
  for (const window of liveWindows(state, t)) {
    const left = window.remaining - owed - (rest === undefined ? 0 : reserveOf(window));
    room = Math.min(room, left - inFlight);
    // A debt may yet be settled by a reply that is under way; what is used up stays so until the reset.
    const settled = owed === 0 || inFlight === 0;
    if (left <= 0 && settled) full = Math.max(full, windowEnd(window, offsetLo(state)));
    if (left - inFlight !== 1 || !isWorthProbing(state, window, rest)) continue;
    const probeAt = probeTime(state, window, rest);
    if (t >= probeAt) role = 'probe';
    // Replies out of order make what is left look less than it is: which request is the last they say when all are here.
    else if (inFlight > 0) return again;
    else full = Math.max(full, probeAt);
  }
  if (room >= 1 && full === 0) return { granted: true, role };
  return full > t ? { granted: false, until: full, reason: 'window' } : again;
}

// After a reset, after a block and with no knowledge one request goes alone, until its reply says where we stand.
function needsCanary(state: LedgerState, t: number): boolean {
  const leading = state.short ?? state.long;
  return !state.verified || !leading || t >= windowEnd(leading, offsetLo(state));
}
