// What is known of the rate limit, as commands show it.
import { formatDuration, formatRemaining } from '../format.ts';
import type { BlockReason } from './ledger-record.ts';
import type { KeyState } from './policy.ts';
import { admit, windowEnd } from './policy.ts';

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

export function quotaView(state: KeyState, now: number, shared: boolean): QuotaView {
  const t = Math.max(now, state.time);
  const admission = admit(state, t);
  const { wait, window, offset } = state;
  return {
    window: window && { ...window, limit: window.limit, over: t >= windowEnd(window) },
    longWindow: undefined,
    blocked:
      wait && t < wait.until
        ? { until: wait.until, since: wait.since, reason: wait.reason, refusals: wait.refusals }
        : undefined,
    seenAt: state.headers?.at,
    nextAt: 'until' in admission ? admission.until : undefined,
    inFlight: Object.values(state.tickets).filter(({ expires }) => t <= expires).length,
    clockOffset: offset && { lo: offset.lo, hi: offset.hi },
    shared,
  };
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
