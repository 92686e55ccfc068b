// The rate limit of a key, as commands show it.
import { formatDuration, formatRemaining } from '../format.ts';
import type { BlockReason } from './ledger-record.ts';
import type { KeyState } from './policy.ts';
import { admit } from './policy.ts';
import { RULES } from './rules.ts';
import type { Window } from './window.ts';
import { windowEnd } from './window.ts';

/** One window as the service reported it. Times are epoch milliseconds by our clock. */
export interface WindowView {
  readonly limit: number | undefined;
  readonly remaining: number;
  readonly resetAt: number;
  readonly seenAt: number;
  /** True after the reset; `remaining` is stale until the next response. */
  readonly over: boolean;
}

export interface QuotaView {
  /** Also undefined during a block that no header stated, since the block contradicts it. */
  readonly window: WindowView | undefined;
  /** The length of that window; undefined until two successive resets were seen. */
  readonly windowMs: number | undefined;
  /** The daily window, if a response reported it next to a shorter one. */
  readonly longWindow: WindowView | undefined;
  readonly blocked:
    | { readonly until: number; readonly since: number; readonly reason: BlockReason; readonly refusals: number }
    | undefined;
  /** When a response last reported a limit. */
  readonly seenAt: number | undefined;
  /** When the next request may be sent; undefined if immediately. */
  readonly nextAt: number | undefined;
  readonly inFlight: number;
  /** The service's clock minus ours, milliseconds. */
  readonly clockOffset: { readonly lo: number; readonly hi: number } | undefined;
  /** False if the ledger is only in the memory of this process. */
  readonly shared: boolean;
  /** Host and port of the state server that all machines share. */
  readonly stateServer?: string;
}

/**
 * @param now by the clock of the state
 * @param ahead that clock minus ours
 */
export function quotaView(state: KeyState, now: number, shared: boolean, ahead = 0): QuotaView {
  const t = Math.max(now, state.time);
  const admission = admit(state, t);
  const { window, daily, offset } = state;
  const block = state.block && t < state.block.until ? state.block : undefined;
  // A window with quota left would contradict a block that no header stated.
  const shown = block?.reason === 'backoff' ? undefined : window;
  const isOther = !shown || (daily !== undefined && daily.resetAt - shown.resetAt > RULES.sameWindowMs);
  return {
    window: shown && windowView(shown, t, ahead),
    windowMs: state.windowMs,
    longWindow: daily && isOther ? windowView(daily, t, ahead) : undefined,
    blocked: block && {
      until: block.until - ahead,
      since: block.since - ahead,
      reason: block.reason,
      refusals: block.refusals,
    },
    seenAt: state.reported && state.reported.at - ahead,
    nextAt: 'until' in admission ? admission.until - ahead : undefined,
    inFlight: Object.values(state.tickets).filter(({ expires }) => t <= expires).length,
    clockOffset: offset && { lo: offset.lo + ahead, hi: offset.hi + ahead },
    shared,
  };
}

function windowView(window: Window, t: number, ahead: number): WindowView {
  const { limit, remaining, resetAt, seenAt } = window;
  return { limit, remaining, resetAt: resetAt - ahead, seenAt: seenAt - ahead, over: t >= windowEnd(window) };
}

/**
 * The quota line printed after a command that received a response.
 * @returns for example `quota: 57 of 60 left, resets in 43s`; undefined if unknown
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
