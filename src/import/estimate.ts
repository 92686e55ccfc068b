// Estimates how long the rate limit makes an import take. Pure.
import type { Quota, QuotaWindow } from '../rate-limit/quota.ts';
import { windowIn } from '../rate-limit/quota.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** The daily limit of each plan in docs/service.md, by its limit per minute. */
const DAILY_LIMITS: Readonly<Record<number, number>> = { 60: 1000, 300: 10_000, 1000: 100_000 };

export interface Estimate {
  /** The least time that the rate limit requires, in milliseconds; null if unknown. */
  readonly ms: number | null;
  /** The limit that determines `ms`, and the length of its window, milliseconds; null if unknown. */
  readonly limit: number | null;
  readonly windowMs: number | null;
  /** True if the daily limit is too low for the import. */
  readonly isDaily: boolean;
}

const UNKNOWN: Estimate = { ms: null, limit: null, windowMs: null, isDaily: false };

/** What a window permits: `remaining` requests now, and `limit` more after `resetsInMs` and after each `windowMs`. */
interface Budget {
  readonly limit: number;
  readonly remaining: number;
  /** Null if unknown. */
  readonly resetsInMs: number | null;
  readonly windowMs: number | null;
}

/** @param requests the number of requests still to be sent */
export function estimate(requests: number, quota: Quota, now: number): Estimate {
  const window = windowIn(quota);
  if (!window?.limit) return UNKNOWN;
  const { limit } = window;
  const windowMs = lengthOf(window);
  if (requests === 0) return { ms: 0, limit, windowMs, isDaily: false };
  const needed = timeNeeded(requests, budgetOf(window, windowMs, now));
  const day = dailyBudget(quota, windowMs, now);
  const byDay = day ? timeNeeded(requests, day) : null;
  if (day && byDay !== null && byDay > (needed ?? 0))
    return { ms: byDay, limit: day.limit, windowMs: DAY_MS, isDaily: true };
  const isDaily = windowMs === DAY_MS && needed !== 0;
  if (needed === null) return { ms: null, limit, windowMs, isDaily };
  return { ms: Math.max(needed, (quota.nextRequestAt ?? now) - now), limit, windowMs, isDaily };
}

// The windows of the service are a minute and a day long (docs/service.md), so the time to the reset shows which one it is.
function lengthOf({ resetAt, updatedAt }: QuotaWindow): number | null {
  const ms = resetAt - updatedAt;
  if (ms <= MINUTE_MS + 2000) return MINUTE_MS;
  return ms > HOUR_MS && ms <= DAY_MS + 2000 ? DAY_MS : null;
}

function budgetOf({ limit, remaining, resetAt }: QuotaWindow, windowMs: number | null, now: number): Budget {
  const perWindow = limit ?? 1;
  // The next window starts with the first request.
  if (remaining === null) return { limit: perWindow, remaining: perWindow, resetsInMs: windowMs, windowMs };
  return { limit: perWindow, remaining, resetsInMs: Math.max(0, resetAt - now), windowMs };
}

// The service reports the window nearest its end, so the daily limit is usually derived from the plan's limit per minute.
function dailyBudget({ limit, dailyLimit }: Quota, windowMs: number | null, now: number): Budget | undefined {
  if (dailyLimit) return budgetOf(dailyLimit, DAY_MS, now);
  const daily = DAILY_LIMITS[limit ?? 0];
  if (!daily || windowMs !== MINUTE_MS) return undefined;
  return { limit: daily, remaining: daily, resetsInMs: DAY_MS, windowMs: DAY_MS };
}

// Returns the time until the last reset that the requests need; null if it depends on an unknown window length.
function timeNeeded(requests: number, { limit, remaining, resetsInMs, windowMs }: Budget): number | null {
  const resets = Math.ceil((requests - remaining) / limit);
  if (resets <= 0) return 0;
  if (resets === 1 || resetsInMs === null) return resetsInMs;
  return windowMs === null ? null : resetsInMs + (resets - 1) * windowMs;
}
