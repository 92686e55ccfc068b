// Estimates how long the rate limit makes an import take, and formats the estimate and the progress line.
import type { Clock } from '../../../clock.ts';
import type { ImportProgress } from '../../../public-types.ts';
import type { Quota, QuotaWindow } from '../../../rate-limit/quota.ts';
import { windowIn } from '../../../rate-limit/quota.ts';
import { formatCount, formatDuration, formatNumber, formatRemaining } from '../../../text/format.ts';

const MINUTE_MS = 60_000;
export const DAY_MS = 24 * 60 * MINUTE_MS;
/** Resets may be rounded, and clocks may differ. */
const TOLERANCE_MS = 1000;
/** The daily limit of each plan in docs/service.md, by its limit per minute. */
const DAILY_LIMITS: Readonly<Record<number, number>> = { 60: 1000, 300: 10_000, 1000: 100_000 };

export interface Estimate {
  /** The minimum time that the rate limit requires, in milliseconds; null if unknown. */
  readonly ms: number | null;
  /** The limit that determines this time; undefined if none is known. */
  readonly limit: number | undefined;
  /** The length of its window, in milliseconds; undefined if unknown. */
  readonly windowMs: number | undefined;
}

/** The requests that a limit permits: `remaining` now, `limit` more after `resetsInMs`, and again after each window. */
interface Budget {
  readonly limit: number;
  readonly windowMs: number | undefined;
  readonly remaining: number;
  readonly resetsInMs: number;
}

/**
 * @param requests the number of requests still to be sent
 * @param measuredMs the length of the window; by default, that of the service's plan with this limit
 */
export function estimateDuration(requests: number, quota: Quota, now: number, measuredMs?: number): Estimate {
  const window = windowIn(quota);
  if (!window?.limit) return { ms: null, limit: undefined, windowMs: undefined };
  const plannedMs = windowOfPlan(window);
  const isPlanned = Math.abs((plannedMs ?? 0) - (measuredMs ?? plannedMs ?? 0)) <= TOLERANCE_MS;
  const windowMs = isPlanned ? plannedMs : measuredMs;
  const nearest = budgetOf(window, window.limit, windowMs, now);
  const daily = dailyBudget(quota, nearest, now);
  const needs = [nearest, ...(daily ? [daily] : [])].map((by) => ({ by, ms: timeNeeded(requests, by) }));
  const { by, ms } = needs.reduce((most, need) => ((need.ms ?? 0) > (most.ms ?? 0) ? need : most));
  const blockedMs = requests > 0 ? (quota.nextRequestAt ?? now) - now : 0;
  return { ms: ms === null ? null : Math.max(ms, blockedMs), limit: by.limit, windowMs: by.windowMs };
}

// 1,000 is the limit per minute of one plan and the limit per day of another: the time to the reset shows which.
function windowOfPlan({ limit, resetAt, updatedAt }: QuotaWindow): number | undefined {
  const isWithinMinute = resetAt - updatedAt <= MINUTE_MS + TOLERANCE_MS;
  if (isWithinMinute && limit !== null && limit in DAILY_LIMITS) return MINUTE_MS;
  return !isWithinMinute && Object.values(DAILY_LIMITS).includes(limit ?? 0) ? DAY_MS : undefined;
}

// A window that has been reset permits `limit` requests now.
function budgetOf(
  { remaining, resetAt }: QuotaWindow,
  limit: number,
  windowMs: number | undefined,
  now: number,
): Budget {
  const resetsInMs = remaining === null ? 0 : Math.max(0, resetAt - now);
  return { limit, windowMs, remaining: remaining ?? 0, resetsInMs };
}

// If the headers describe only the minute window, the daily limit is derived from the plan's limit per minute.
function dailyBudget({ dailyLimit }: Quota, { limit, windowMs }: Budget, now: number): Budget | undefined {
  if (dailyLimit?.limit) return budgetOf(dailyLimit, dailyLimit.limit, DAY_MS, now);
  const daily = windowMs === MINUTE_MS ? DAILY_LIMITS[limit] : undefined;
  return daily ? { limit: daily, windowMs: DAY_MS, remaining: daily, resetsInMs: DAY_MS } : undefined;
}

// Returns the time until the last reset that the requests need; null if it depends on an unknown window length.
function timeNeeded(requests: number, { limit, remaining, resetsInMs, windowMs }: Budget): number | null {
  const resetCount = Math.ceil((requests - remaining) / limit);
  if (resetCount <= 0) return 0;
  if (resetCount === 1) return resetsInMs;
  return windowMs === undefined ? null : resetsInMs + (resetCount - 1) * windowMs;
}

/** @returns for example `34m at 60 requests per minute` */
export function formatEstimate({ ms, limit, windowMs }: Estimate): string {
  if (limit === undefined) return 'unknown';
  if (ms === null) return 'unknown until the rate limit resets';
  if (ms === 0) return 'none';
  const per = windowMs === MINUTE_MS ? 'minute' : windowMs === DAY_MS ? 'day' : undefined;
  return per ? `${formatRough(ms)} at ${formatCount(limit, 'request')} per ${per}` : formatRough(ms);
}

// Shows seconds below two minutes.
function formatRough(ms: number): string {
  return formatDuration(ms < 2 * MINUTE_MS ? ms : Math.round(ms / MINUTE_MS) * MINUTE_MS);
}

interface ShownProgress {
  readonly counts: ImportProgress;
  readonly quota: Quota;
  /** During a wait, which the caller shows, the line omits the quota. */
  readonly isWaiting: boolean;
  /** The width of the line, in cells. */
  readonly room: number;
}

/** @returns a function that formats the progress line: rows done, time left, quota, unknown rows */
export function progressLineFormatter(clock: Clock): (progress: ShownProgress) => string {
  const lengths = new WindowLengths();
  let lastTick: number | undefined;
  /** The time since the first call, in milliseconds, without waits if the window is known. */
  let activeMs = 0;
  return ({ counts: { created, skipped, failed, unknown, pending }, quota, isWaiting, room }) => {
    const done = created + skipped + failed;
    const window = windowIn(quota);
    const tick = clock.monotonic();
    // If the window is unknown, the estimate lacks the waits, so the pace includes them.
    if (!isWaiting || !window) activeMs += tick - (lastTick ?? tick);
    lastTick = tick;
    const rows = unknown + pending;
    const { ms } = estimateDuration(rows, quota, clock.now(), window && lengths.observe(window));
    const isUnknown = window !== undefined && ms === null;
    const left = isUnknown ? 0 : Math.max(ms ?? 0, created > 0 ? (rows * activeMs) / created : 0);
    const parts: string[] = [];
    if (rows > 0 && left > 0) parts.push(`${formatRough(left)} left`);
    if (window && window.remaining !== null && !isWaiting)
      parts.push(`quota ${formatRemaining(window.remaining, window.limit)}`);
    if (unknown > 0) parts.push(`${formatNumber(unknown)} unconfirmed`);
    const start = `${formatNumber(done)} of ${formatNumber(done + rows)}`;
    return parts.reduce((line, part) => (line.length + 3 + part.length > room ? line : `${line} · ${part}`), start);
  };
}

/** The lengths of windows, each measured from one reset to the next. */
class WindowLengths {
  #last: QuotaWindow | undefined;
  readonly #msByLimit = new Map<number | null, number>();

  /** @returns the length of this window, in milliseconds; undefined before two of its resets were seen */
  observe(window: QuotaWindow): number | undefined {
    const last = this.#last;
    this.#last = window;
    if (window.limit === last?.limit) {
      const ms = window.resetAt - last.resetAt;
      // A reset that moves before it is reached does not show the length of a window.
      const isNext = ms > TOLERANCE_MS && window.updatedAt >= last.resetAt - TOLERANCE_MS;
      if (isNext) this.#msByLimit.set(window.limit, ms);
    }
    return this.#msByLimit.get(window.limit);
  }
}
