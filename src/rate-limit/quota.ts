// The rate limit of a key as programs read it: `petstore quota --json` and `client.quota()`.
import type { QuotaView, WindowView } from './quota-view.ts';

/** One window of the rate limit, as a response reported it. */
export interface QuotaWindow<Time> {
  readonly limit: number | null;
  readonly remaining: number;
  readonly resetAt: Time;
  /** True once `resetAt` has passed; `remaining` is stale until the next response. */
  readonly resetPassed: boolean;
  readonly updatedAt: Time;
}

/** The rate limit of a key as of the last response; `null` means unknown or none. */
export interface Quota<Time = number> {
  readonly limit: number | null;
  readonly remaining: number | null;
  readonly resetAt: Time | null;
  /** True once `resetAt` has passed; `remaining` is stale until the next response. */
  readonly resetPassed: boolean | null;
  /** When a response last reported a limit. */
  readonly updatedAt: Time | null;
  /** Set while no request may be sent after a 429. */
  readonly blocked: {
    readonly until: Time;
    readonly since: Time;
    /** What determines `until`: a header of the 429, or exponential backoff. */
    readonly reason: 'retry_after' | 'reset' | 'backoff';
    readonly consecutive429s: number;
  } | null;
  /** When the next request may be sent; `null` if immediately. */
  readonly nextRequestAt: Time | null;
  /** The daily window, if the service reported it next to a shorter one. */
  readonly dailyLimit: QuotaWindow<Time> | null;
  /** Requests in flight, of all processes that share the limit. */
  readonly inFlight: number;
  /** The service's clock minus this machine's, in milliseconds. */
  readonly clockOffsetMs: { readonly min: number; readonly max: number } | null;
  /** False if the limit is not shared with other processes. */
  readonly shared: boolean;
  readonly stateServer: string | null;
}

/**
 * @param time formats epoch milliseconds
 * @internal
 */
export function toQuota<Time>(view: QuotaView, time: (at: number) => Time): Quota<Time> {
  const { longWindow, blocked, nextAt, seenAt, clockOffset } = view;
  const window = view.window ?? longWindow;
  const windowOf = (one: WindowView): QuotaWindow<Time> => ({
    limit: one.limit ?? null,
    remaining: one.remaining,
    resetAt: time(one.resetAt),
    resetPassed: one.over,
    updatedAt: time(one.seenAt),
  });
  const unknown = { limit: null, remaining: null, resetAt: null, resetPassed: null };
  return {
    ...(window ? windowOf(window) : unknown),
    updatedAt: seenAt === undefined ? null : time(seenAt),
    blocked: blocked
      ? {
          until: time(blocked.until),
          since: time(blocked.since),
          reason: blocked.reason,
          consecutive429s: blocked.refusals,
        }
      : null,
    nextRequestAt: nextAt === undefined ? null : time(nextAt),
    dailyLimit: longWindow ? windowOf(longWindow) : null,
    inFlight: view.inFlight,
    clockOffsetMs: clockOffset ? { min: clockOffset.lo, max: clockOffset.hi } : null,
    shared: view.shared,
    stateServer: view.stateServer ?? null,
  };
}
