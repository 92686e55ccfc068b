// Whether a request may be sent: a pure function of the state (docs/rate-limits.md).
import type { KeyState, Window } from './key-state.ts';
import { activeBlock, ticketOf } from './key-state.ts';
import { windowEnd } from './window.ts';

export type Admission = { readonly granted: true; readonly probe: boolean } | Denial;
export type Denial =
  | { readonly granted: false; readonly reason: 'window'; readonly until: number }
  /** After a refusal with this status. */
  | { readonly granted: false; readonly reason: 'blocked'; readonly until: number; readonly status: number }
  /** A response to a request in flight must arrive first. */
  | { readonly granted: false; readonly reason: 'pending' };

const GRANTED: Admission = { granted: true, probe: false };
const PROBE: Admission = { granted: true, probe: true };
export const PENDING: Denial = { granted: false, reason: 'pending' };

/** Whether one more request may be sent now. Changes nothing. */
export function admit(state: KeyState, now: number): Admission {
  const t = Math.max(now, state.time);
  const block = activeBlock(state, t);
  if (block) return { granted: false, reason: 'blocked', until: block.until, status: block.status };
  const { awaited, awaitsProbe, unanswered } = openRequests(state, t);
  if (awaitsProbe) return PENDING;
  if (isProbeDue(state, t)) return fitsBesideProbe(state, awaited) ? PROBE : PENDING;
  if (awaited >= mostInFlight(state)) return PENDING;
  return state.window ? admitTo(state.window, awaited, unanswered) : GRANTED;
}

/**
 * Counts the requests without a response in two sets. Other requests wait for those that are `awaited`. No request waits for
 * those that are `unanswered`, but the service may have counted them.
 *
 * For example, 4 requests are left, and a and b are sent: both are awaited. After 1 s, the connection of a breaks: a is
 * unanswered. After 5 s, so is b, since its process may have been killed or stopped: 2 requests are left. Then c is sent, and
 * its response shows what is left. This includes a and b, so no request is unanswered any more.
 */
export function openRequests({ tickets, lost, countedUntil }: KeyState, t: number) {
  let [awaited, awaitsProbe, unanswered] = [0, false, lost.length];
  for (const { overdueAt, probe } of tickets) {
    if (t <= overdueAt) {
      awaited++;
      awaitsProbe ||= probe;
    } else if (overdueAt >= countedUntil) unanswered++;
  }
  return { awaited, awaitsProbe, unanswered };
}

// The remaining quota is unknown at the start, after a refusal, and after a reset.
function isProbeDue({ needsProbe, window }: KeyState, t: number): boolean {
  return needsProbe || (window !== undefined && t >= windowEnd(window));
}

// Late requests may count in the next window, so the probe and these requests must fit into it.
function fitsBesideProbe({ window }: KeyState, awaited: number): boolean {
  return awaited < (window?.limit ?? 1);
}

// An open window alone limits the requests in flight, until a refusal that the window does not explain.
function mostInFlight({ window, concurrency, hasHiddenLimit }: KeyState): number {
  return window && !hasHiddenLimit ? Number.POSITIVE_INFINITY : Math.floor(concurrency);
}

function admitTo(window: Window, awaited: number, unanswered: number): Admission {
  const left = window.remaining - unanswered;
  if (left > awaited) return GRANTED;
  // An awaited response may show that the unanswered requests did not count.
  const mayShowMore = awaited > 0 && unanswered > 0;
  if (left > 0 || mayShowMore) return PENDING;
  return { granted: false, reason: 'window', until: windowEnd(window) };
}

/** Whether a ticket still allows its request now: not during a block, in a window that has been exhausted since, or after 5 s. */
export function isStillGranted(state: KeyState, id: string, now: number): boolean {
  const t = Math.max(now, state.time);
  const ticket = ticketOf(state, id);
  // After 5 s, other requests no longer wait for this one, so sending it might exceed the limit.
  if (ticket === undefined || t > ticket.overdueAt || activeBlock(state, t)) return false;
  const { window } = state;
  const isExhausted = window?.remaining === 0 && t < windowEnd(window);
  return !(isExhausted && ticket.seq < window.seq);
}
