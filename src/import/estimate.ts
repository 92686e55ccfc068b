// Estimates the duration of an import under the rate limit, for the prompt, `--dry-run` and the progress line.
import type { Clock } from '../clock.ts';
import { formatCount, formatDuration, formatNumber, formatRemaining } from '../format.ts';
import type { Quota, QuotaWindow } from '../rate-limit/quota.ts';
import { windowIn } from '../rate-limit/quota.ts';
import type { ImportResults } from './results.ts';

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

/** @param requests the number of requests still to be sent */
export function estimate(requests: number, quota: Quota, now: number): Estimate {
  const { limit } = quota;
  const window = windowIn(quota);
  if (!window || !limit) return { ms: null, limit: null, windowMs: null, isDaily: false };
  const windowMs = lengthOf(window);
  if (requests === 0) return { ms: 0, limit, windowMs, isDaily: false };
  const needed = timeNeeded(requests, window, windowMs, now);
  const day = dailyWindow(quota, windowMs, now);
  const byDay = day ? (timeNeeded(requests, day, DAY_MS, now) ?? 0) : 0;
  if (day && byDay > (needed ?? 0)) return { ms: byDay, limit: day.limit, windowMs: DAY_MS, isDaily: true };
  const startsIn = (quota.nextRequestAt ?? now) - now;
  const isDaily = windowMs === DAY_MS && needed !== 0;
  return { ms: needed === null ? null : Math.max(needed, startsIn), limit, windowMs, isDaily };
}

// The windows of the service are a minute and a day long (docs/service.md), so the time to the reset shows which one it is.
function lengthOf({ resetAt, updatedAt }: QuotaWindow): number | null {
  const ms = resetAt - updatedAt;
  if (ms <= MINUTE_MS + 2000) return MINUTE_MS;
  return ms > HOUR_MS && ms <= DAY_MS + 2000 ? DAY_MS : null;
}

type Budget = Omit<QuotaWindow, 'updatedAt'>;

// The service reports the window nearest its end, so the daily limit is usually derived from the plan's limit per minute.
function dailyWindow({ limit, dailyLimit }: Quota, windowMs: number | null, now: number): Budget | undefined {
  if (dailyLimit) return dailyLimit;
  const daily = DAILY_LIMITS[limit ?? 0];
  return daily && windowMs === MINUTE_MS
    ? { limit: daily, remaining: daily, resetAt: now + DAY_MS, resetPassed: false }
    : undefined;
}

// Returns the time until the last reset that the requests need; null if it depends on an unknown window length.
function timeNeeded(
  requests: number,
  { limit, remaining, resetPassed, resetAt }: Budget,
  length: number | null,
  now: number,
): number | null {
  const perWindow = limit ?? 1;
  const resets = Math.ceil(Math.max(0, requests - (resetPassed ? perWindow : remaining)) / perWindow);
  if (resets === 0) return 0;
  const [first, others] = resetPassed ? [0, resets] : [resetAt - now, resets - 1];
  if (others === 0) return Math.max(0, first);
  return length === null ? null : Math.max(0, first) + others * length;
}

const UNITS: Readonly<Record<number, string>> = { 1: 'second', 60: 'minute', 3600: 'hour', 86400: 'day' };

/** @returns for example `34m at 60 requests per minute` */
export function formatEstimate({ ms, limit, windowMs }: Estimate): string {
  if (limit === null) return 'unknown';
  if (ms === null) return 'unknown until the rate limit resets';
  if (ms === 0) return 'no wait for the rate limit';
  const seconds = Math.round((windowMs ?? 0) / 1000);
  const per = seconds === 0 ? 'window' : (UNITS[seconds] ?? formatDuration(seconds * 1000));
  return `${formatRough(ms)} at ${formatCount(limit, 'request')} per ${per}`;
}

// Shows seconds below two minutes.
function formatRough(ms: number): string {
  return formatDuration(ms < 2 * MINUTE_MS ? ms : Math.round(ms / MINUTE_MS) * MINUTE_MS);
}

/**
 * Starts the progress line: rows done, time left, quota.
 * @returns a function that formats the line to at most `room` cells; during a wait, which the caller shows, it omits the quota
 */
export function startProgressLine(
  total: number,
  clock: Clock,
): (counts: ImportResults['counts'], quota: Quota, isWaiting: boolean, room: number) => string {
  let last: number | undefined;
  let activeMs = 0;
  return ({ exists, created, failed, unknown }, quota, isWaiting, room) => {
    const done = exists + created + failed;
    const window = windowIn(quota);
    const now = clock.monotonic();
    // If the window is unknown, include waits in the pace.
    if (!isWaiting || !window) activeMs += now - (last ?? now);
    last = now;
    const counts = `${formatNumber(done)} of ${formatNumber(total)}`;
    const parts: string[] = [];
    const rows = total - done;
    const { ms } = estimate(rows, quota, clock.now());
    const left = Math.max(ms ?? 0, created > 0 ? (activeMs / created) * rows : 0);
    if (rows > 0 && window && ms === null) parts.push('time left unknown');
    else if (rows > 0 && left > 0) parts.push(`${formatRough(left)} left`);
    if (window && !window.resetPassed && !isWaiting)
      parts.push(`quota ${formatRemaining(window.remaining, window.limit)}`);
    if (unknown > 0) parts.push(`${formatNumber(unknown)} to look up`);
    return parts.reduce((line, part) => (line.length + 3 + part.length > room ? line : `${line} · ${part}`), counts);
  };
}
