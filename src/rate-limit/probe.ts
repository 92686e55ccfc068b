// The last request of a window, held back as a probe: it finds the next window open before the reset is certainly over.
//
// A reset told in whole seconds may lie up to a second later, and the service's clock is known to a second at first.
// Who waits for all that loses it in every window. A request that the old window still has room for may go at any
// time: the new window takes it, or the old one does, and its reply says which.
import type { LedgerState } from './ledger-state.ts';
import type { RateWindow } from './window.ts';
import { LEAST_GUARD_MS, reserveOf, resetOf } from './window.ts';

/**
 * Whether a run gains by holding the last request of a window back. Where the next window takes the probe, the old one's
 * last request is never used: so only where as many windows do all the same, and where nothing is left to others.
 * @param state what the records gave
 * @param window a window with room for one more
 * @param rest how many requests of the run have no ticket yet; 0 or undefined where that is not known
 */
export function isWorthProbing(state: LedgerState, window: RateWindow, rest: number | undefined): rest is number {
  if (window !== (state.short ?? state.long) || window.limit === undefined || rest === undefined) return false;
  const asManyWindows = rest > 1 && (rest - 1) % window.limit !== 0;
  return asManyWindows && reserveOf(window) === 0;
}

/**
 * When the probe goes. Where the next window ends the run, as soon as the told reset is certainly reached; before that in
 * the middle of what is possible, so that each reply's Date halves what is not known of the service's clock.
 * @param state what the records gave
 * @param window the window whose last request it is
 * @param rest how many requests of the run have no ticket yet
 * @returns epoch milliseconds by our clock
 */
export function probeTime(state: LedgerState, window: RateWindow, rest: number): number {
  const { lo, hi } = state.offset ?? { lo: 0, hi: 0 };
  const offset = rest <= (window.limit ?? 0) ? lo : (lo + hi) / 2;
  return Math.ceil(resetOf(window.reset.at, window.reset.clock, offset)) + LEAST_GUARD_MS;
}
