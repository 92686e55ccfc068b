// A clock that was set back: what was written ahead of it moves with it.
import type { LedgerState } from './ledger-state.ts';

const CLOCK_STEP_MS = 60_000;

/**
 * @param state what the records gave
 * @param now the wall clock, epoch milliseconds
 * @returns whether the records are so far ahead of the clock that it must have been set back
 */
export function isAhead(state: LedgerState, now: number): boolean {
  return state.time > now + CLOCK_STEP_MS;
}

/**
 * Moves everything that was written down ahead of the clock. Whoever comes second finds it done.
 * @param state changed in place
 * @param now the wall clock, epoch milliseconds
 */
export function stepClock(state: LedgerState, now: number): void {
  const by = state.time - now;
  if (by <= CLOCK_STEP_MS) return;
  state.time = now;
  for (const [id, ticket] of state.tickets) {
    state.tickets.set(id, { ...ticket, at: ticket.at - by, expires: ticket.expires - by });
  }
  for (const window of [state.short, state.long]) {
    if (!window) continue;
    window.seenAt -= by;
    if (window.reset.clock === 'local') window.reset = { ...window.reset, at: window.reset.at - by };
  }
  if (state.block) state.block = { ...state.block, until: state.block.until - by, since: state.block.since - by };
  if (state.offset)
    state.offset = { lo: state.offset.lo + by, hi: state.offset.hi + by, since: state.offset.since - by };
  if (state.lastHeaders) state.lastHeaders = { ...state.lastHeaders, at: state.lastHeaders.at - by };
  for (const [name, at] of state.users) state.users.set(name, at - by);
}
