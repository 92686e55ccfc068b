// The rate limit of a key as programs read it.
import { admit } from './admission.ts';
import type { KeyState, Window } from './key-state.ts';
import { activeBlock } from './key-state.ts';
import { RULES } from './rules.ts';

/** One window of the rate limit, as a response reported it. Times are epoch milliseconds. */
export interface QuotaWindow {
  readonly limit: number | null;
  /** `null` once the reset has passed, until the next response. */
  readonly remaining: number | null;
  readonly resetAt: number;
  readonly resetPassed: boolean;
  readonly updatedAt: number;
}

/** The rate limit of a key as of the last response; `null` means unknown or none. Times are epoch milliseconds. */
export interface Quota {
  readonly limit: number | null;
  readonly remaining: number | null;
  readonly resetAt: number | null;
  readonly resetPassed: boolean | null;
  readonly updatedAt: number | null;
  /** Set while no request may be sent after a refusal: a 429, or a 503 to a create or other change. */
  readonly blocked: {
    readonly until: number;
    readonly since: number;
    /** The origin of `until`: a header of the refusal, or exponential backoff. */
    readonly reason: 'retry_after' | 'reset' | 'backoff';
    readonly consecutive429s: number;
  } | null;
  /** When the next request may be sent; `null` if immediately, or after the response to a request in flight. */
  readonly nextRequestAt: number | null;
  /** The daily window, if the service reported it in addition to a shorter one. */
  readonly dailyLimit: QuotaWindow | null;
  /** Requests in flight, of all processes that share the limit. */
  readonly inFlight: number;
  /** False if the limit is not shared with other processes. */
  readonly shared: boolean;
  /** Host and port of the state server in use. */
  readonly stateServer: string | null;
}

const NO_WINDOW = { limit: null, remaining: null, resetAt: null, resetPassed: null, updatedAt: null };

/**
 * @param now by the clock of the state
 * @param clockOffsetMs the clock of the state minus this machine's clock
 * @internal
 */
export function quotaOf(state: KeyState, now: number, clockOffsetMs = 0): Omit<Quota, 'shared' | 'stateServer'> {
  const t = Math.max(now, state.time);
  const { daily } = state;
  const admission = admit(state, t);
  const block = activeBlock(state, t);
  // A window with quota left would contradict a block that no header stated.
  const window = block?.reason === 'backoff' ? undefined : state.window;
  const nearest = window ?? daily;
  const hasDaily = window && daily && daily.resetAt - window.resetAt > RULES.sameWindowMs;
  const ours = (at: number): number => Math.round(at - clockOffsetMs);
  const windowOf = (one: Window): QuotaWindow => {
    const resetPassed = t >= one.resetAt;
    const remaining = resetPassed ? null : one.remaining;
    const times = { resetAt: ours(one.resetAt), resetPassed, updatedAt: ours(one.reportedAt) };
    return { limit: one.limit ?? null, remaining, ...times };
  };
  return {
    ...(nearest ? windowOf(nearest) : NO_WINDOW),
    blocked: block
      ? { until: ours(block.until), since: ours(block.since), reason: block.reason, consecutive429s: block.refusals }
      : null,
    nextRequestAt: 'until' in admission ? ours(admission.until) : null,
    dailyLimit: hasDaily ? windowOf(daily) : null,
    inFlight: state.tickets.filter(({ expires }) => t <= expires).length,
  };
}

/** The window that a quota describes; undefined if none is known. @internal */
export function windowIn(quota: Pick<Quota, keyof QuotaWindow>): QuotaWindow | undefined {
  return quota.resetAt === null ? undefined : (quota as QuotaWindow);
}
