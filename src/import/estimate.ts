// How long an import takes under the quota, as far as the replies so far tell. Pure.
import type { QuotaView } from '../rate-limit/quota-view.ts';

/** What is to be expected; undefined where nothing is known of the quota. */
export interface Estimate {
  /** Windows of the shorter limit that the requests reach into. */
  readonly windows: number | undefined;
  /** Epoch milliseconds, not before. */
  readonly endsAt: number | undefined;
  /** Where the day's quota does not last for all requests; `told` by the service, or known from its plans only. */
  readonly daily: { readonly left: number; readonly limit: number; readonly told: boolean } | undefined;
}

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/** Requests per day by requests per minute: the plans of service.md, section 8. */
const PER_DAY: Readonly<Record<number, number>> = { 60: 1000, 300: 10_000, 1000: 100_000 };

/**
 * Estimates an import. The headers do not tell how long a window is: a minute and a day, as service.md documents them,
 * unless it was seen.
 * @param requests how many are still to be sent
 * @param view what is known of the quota
 * @param now the wall clock, epoch milliseconds
 * @param windowMs how long the shorter window is, in milliseconds
 * @returns windows and end
 */
export function estimate(
  requests: number,
  view: Pick<QuotaView, 'window' | 'longWindow'>,
  now: number,
  windowMs = MINUTE_MS,
): Estimate {
  const { window, longWindow } = view;
  if (!window?.limit) return { windows: undefined, endsAt: undefined, daily: undefined };
  const left = window.over ? window.limit : window.remaining;
  const short = spread(requests, left, window.limit);
  const reset = window.over ? now + windowMs : window.resetAt;
  const daily = dailyOf(longWindow, window.limit);
  const days = daily && spread(requests, daily.left, daily.limit);
  const byMinute = short === 0 ? now : reset + (short - 1) * windowMs;
  const byDay = days ? (daily.resetAt ?? now + DAY_MS) + (days - 1) * DAY_MS : now;
  return {
    windows: requests === 0 ? 0 : short + (left > 0 ? 1 : 0),
    endsAt: Math.max(now, byMinute, byDay),
    daily: days ? { left: daily.left, limit: daily.limit, told: daily.told } : undefined,
  };
}

// How many resets have to be waited for.
function spread(requests: number, left: number, limit: number): number {
  return Math.ceil(Math.max(0, requests - left) / limit);
}

function dailyOf(
  window: QuotaView['longWindow'],
  perMinute: number,
): (NonNullable<Estimate['daily']> & { readonly resetAt: number | undefined }) | undefined {
  if (window?.limit) {
    const left = window.over ? window.limit : window.remaining;
    return { left, limit: window.limit, told: true, resetAt: window.over ? undefined : window.resetAt };
  }
  const planned = PER_DAY[perMinute];
  return planned === undefined ? undefined : { left: planned, limit: planned, told: false, resetAt: undefined };
}
