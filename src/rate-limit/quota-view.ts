// What is known of the rate limit, as commands show it.
import { formatDuration, formatRemaining } from '../format.ts';
import { admit } from './admission.ts';
import type { BlockReason } from './ledger-record.ts';
import type { LedgerState } from './ledger-state.ts';
import { liveWindows, offsetLo } from './ledger-state.ts';
import type { RateWindow } from './window.ts';
import { resetOf } from './window.ts';

/** One window as the service reported it. Times are epoch milliseconds by our clock. */
export interface WindowView {
  readonly limit: number | undefined;
  readonly remaining: number;
  readonly resetAt: number;
  readonly seenAt: number;
  /** True after the reset: what is left now shows with the next response. */
  readonly over: boolean;
}

export interface QuotaView {
  /** The window nearest its end. */
  readonly window: WindowView | undefined;
  /** A longer one (the day's), where a response ever reported it. */
  readonly longWindow: WindowView | undefined;
  readonly blocked:
    | { readonly until: number; readonly since: number; readonly reason: BlockReason; readonly refusals: number }
    | undefined;
  /** When a response last reported a limit. */
  readonly seenAt: number | undefined;
  /** When the next request may be sent; undefined where at once. */
  readonly nextAt: number | undefined;
  readonly inFlight: number;
  /** The service's clock minus ours, milliseconds. */
  readonly clockOffset: { readonly lo: number; readonly hi: number } | undefined;
  /** False where the ledger is in this process's memory only. */
  readonly shared: boolean;
  /** Host and port of the state server that all machines share, where there is one. */
  readonly stateServer?: string;
}

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
    clockOffset: state.offset && { lo: state.offset.lo, hi: state.offset.hi },
    shared,
  };
}

function windowView(state: LedgerState, window: RateWindow | undefined, t: number): WindowView | undefined {
  if (!window) return undefined;
  const resetAt = resetOf(window.reset, offsetLo(state));
  const over = !liveWindows(state, t).includes(window);
  const { limit, remaining, seenAt } = window;
  return { limit, remaining, resetAt, seenAt, over };
}

/**
 * The line that follows a command that received a response.
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
