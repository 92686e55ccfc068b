// What is known of the rate limit, for whoever shows it.
import { formatDuration } from '../duration.ts';
import { formatRemaining } from '../format.ts';
import { admit } from './admission.ts';
import type { BlockReason } from './ledger-record.ts';
import type { LedgerState } from './ledger-state.ts';
import { liveWindows, offsetLo } from './ledger-state.ts';
import type { RateWindow } from './window.ts';
import { resetOf } from './window.ts';

/** One window as the service told it. Times are epoch milliseconds by our clock. */
export interface WindowView {
  readonly limit: number | undefined;
  readonly remaining: number;
  readonly resetAt: number;
  readonly seenAt: number;
  /** True where the reset has passed since: what is left now is known only after the next request. */
  readonly over: boolean;
}

/** All that is known of one key's quota. */
export interface QuotaView {
  /** The window nearest its end, as the last replies told it. */
  readonly window: WindowView | undefined;
  /** A longer one (the day's), where a reply ever told of it. */
  readonly longWindow: WindowView | undefined;
  readonly blocked:
    | { readonly until: number; readonly since: number; readonly reason: BlockReason; readonly refusals: number }
    | undefined;
  /** When a reply last told anything. */
  readonly seenAt: number | undefined;
  /** When the next request may go; undefined where at once. */
  readonly nextAt: number | undefined;
  readonly inFlight: number;
  /** Processes that sent with this key in the last minute, at most 50. */
  readonly processes: number;
  /** Service's clock minus ours, milliseconds, where replies told their time. */
  readonly clockOffset: { readonly lo: number; readonly hi: number } | undefined;
  /** False where nothing can be written: then this process alone knows. */
  readonly shared: boolean;
  /** Host and port of the state server that all machines share, where there is one. */
  readonly stateServer?: string;
}

/**
 * @param state what the ledger's records gave
 * @param now epoch milliseconds
 * @param shared whether other processes read the same ledger
 * @returns the view
 */
export function quotaView(state: LedgerState, now: number, shared: boolean): QuotaView {
  const t = Math.max(now, state.time);
  const admission = admit(state, t);
  const { block } = state;
  return {
    window: windowView(state, state.short, t),
    longWindow: windowView(state, state.long, t),
    blocked:
      block && t < block.until
        ? { until: block.until, since: block.since, reason: block.reason, refusals: block.consecutive429s }
        : undefined,
    seenAt: state.lastHeaders?.at,
    nextAt: 'until' in admission ? admission.until : undefined,
    inFlight: [...state.tickets.values()].filter((ticket) => t <= ticket.expires).length,
    processes: [...state.users.values()].filter((at) => at >= t - 60_000).length,
    clockOffset: state.offset && { lo: state.offset.lo, hi: state.offset.hi },
    shared,
  };
}

function windowView(state: LedgerState, window: RateWindow | undefined, t: number): WindowView | undefined {
  if (!window) return undefined;
  const resetAt = resetOf(window.reset.at, window.reset.clock, offsetLo(state));
  const over = !liveWindows(state, t).includes(window);
  const { limit, remaining, seenAt } = window;
  return { limit, remaining, resetAt, seenAt, over };
}

/**
 * The line that follows a command that received a response.
 * @param now epoch milliseconds
 * @returns for example `quota: 57 of 60 left, resets in 43s`; undefined where nothing is known
 */
export function quotaLine(view: QuotaView, now: number): string | undefined {
  if (view.blocked) return `quota: rate limited, try again in ${formatDuration(view.blocked.until - now)}`;
  const window = view.window && !view.window.over ? view.window : view.longWindow;
  if (!window || window.over) return undefined;
  const left = formatRemaining(window.remaining, window.limit);
  return left === 'unlimited'
    ? `quota: ${left}`
    : `quota: ${left} left, resets in ${formatDuration(window.resetAt - now)}`;
}
