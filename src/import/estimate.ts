// Estimates how long the rate limit makes an import take. Pure.
import type { Quota, QuotaWindow } from '../rate-limit/quota.ts';
import { windowIn } from '../rate-limit/quota.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** Resets may be rounded, and clocks may differ. */
const TOLERANCE_MS = 2000;
/** The daily limit of each plan in docs/service.md, by its limit per minute. */
const DAILY_LIMITS: Readonly<Record<number, number>> = { 60: 1000, 300: 10_000, 1000: 100_000 };

/** A limit, and the window to which it applies: `window` if its length is unknown. */
interface Limit {
  readonly limit: number;
  readonly per: 'minute' | 'day' | 'window';
}

export interface Estimate {
  /** The minimum time that the rate limit requires, in milliseconds; null if unknown. */
  readonly ms: number | null;
  /** The limit that determines this time; undefined if none is known. */
  readonly by: Limit | undefined;
  /** True if the daily limit is too low for the import. */
  readonly isDaily: boolean;
}

/** The requests that a limit permits: `remaining` now, `limit` more after `resetsInMs`, and again after each window. */
interface Budget extends Limit {
  readonly remaining: number;
  readonly resetsInMs: number;
}

/** @param requests the number of requests still to be sent */
export function estimateDuration(requests: number, quota: Quota, now: number): Estimate {
  const window = windowIn(quota);
  if (!window?.limit) return { ms: null, by: undefined, isDaily: false };
  const nearest = budgetOf(window, window.limit, perOf(window), now);
  const daily = dailyBudget(quota, nearest, now);
  const needs = [nearest, ...(daily ? [daily] : [])].map((by) => ({ by, ms: timeNeeded(requests, by) }));
  const { by, ms } = needs.reduce((most, need) => ((need.ms ?? 0) > (most.ms ?? 0) ? need : most));
  const isDaily = by.per === 'day' && ms !== 0;
  const blockedMs = requests > 0 ? (quota.nextRequestAt ?? now) - now : 0;
  return { ms: ms === null ? null : Math.max(ms, blockedMs), by, isDaily };
}

// The windows of the service are a minute and a day long (docs/service.md), so the time to the reset shows which window it is.
function perOf({ limit, resetAt, updatedAt }: QuotaWindow): Limit['per'] {
  const ms = resetAt - updatedAt;
  if (ms > MINUTE_MS + TOLERANCE_MS) return ms > HOUR_MS && ms <= DAY_MS + TOLERANCE_MS ? 'day' : 'window';
  // 1,000 is the limit per minute of one plan and the limit per day of another.
  const couldBeDaily = Object.values(DAILY_LIMITS).includes(limit ?? 0) && isMidnight(resetAt);
  return couldBeDaily ? 'window' : 'minute';
}

function isMidnight(at: number): boolean {
  return (at + TOLERANCE_MS) % DAY_MS <= 2 * TOLERANCE_MS;
}

// A window that has been reset permits `limit` requests now.
function budgetOf({ remaining, resetAt }: QuotaWindow, limit: number, per: Limit['per'], now: number): Budget {
  const resetsInMs = remaining === null ? 0 : Math.max(0, resetAt - now);
  return { limit, per, remaining: remaining ?? 0, resetsInMs };
}

// If the headers describe only the minute window, the daily limit is derived from the plan's limit per minute.
function dailyBudget({ dailyLimit }: Quota, { limit, per }: Limit, now: number): Budget | undefined {
  if (dailyLimit?.limit) return budgetOf(dailyLimit, dailyLimit.limit, 'day', now);
  const daily = per === 'minute' ? DAILY_LIMITS[limit] : undefined;
  return daily ? { limit: daily, per: 'day', remaining: daily, resetsInMs: DAY_MS } : undefined;
}

// Returns the time until the last reset that the requests need; null if it depends on an unknown window length.
function timeNeeded(requests: number, { limit, remaining, resetsInMs, per }: Budget): number | null {
  const resets = Math.ceil((requests - remaining) / limit);
  if (resets <= 0) return 0;
  if (resets === 1) return resetsInMs;
  return per === 'window' ? null : resetsInMs + (resets - 1) * (per === 'day' ? DAY_MS : MINUTE_MS);
}
