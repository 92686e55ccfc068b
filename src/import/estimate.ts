// How long an import takes under the rate limit: for the question, for `--dry-run` and for the progress line.
import type { Clock } from '../clock.ts';
import { formatCount, formatNumber } from '../format.ts';
import type { QuotaView, WindowView } from '../rate-limit/quota-view.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** Requests per day by requests per minute: the plans in docs/service.md. */
const DAILY_LIMITS: Readonly<Record<number, number>> = { 60: 1000, 300: 10_000, 1000: 100_000 };
/** Lengths that windows usually have, milliseconds. */
const USUAL_WINDOWS_MS = [1000, 2000, 5000, 10_000, 15_000, 30_000, MINUTE_MS, 5 * MINUTE_MS, HOUR_MS, DAY_MS];
/** A larger limit counts as none. */
const UNLIMITED = 1_000_000;
/** Resets that differ by less belong to the same window; milliseconds. */
const SAME_RESET_MS = 900;

export interface Estimate {
  /** Milliseconds from now, at least. */
  readonly ms: number;
  /** The limit that decides: requests per window. */
  readonly limit: number;
  readonly windowMs: number;
  /** Whether the daily limit does not suffice. */
  readonly isDaily: boolean;
}

/**
 * @param requests how many are still to be sent
 * @param windowMs the length of the shorter window where it was measured
 * @returns undefined where no limit is known
 */
export function estimate(
  requests: number,
  { window, longWindow, nextAt }: Pick<QuotaView, 'window' | 'longWindow'> & Partial<Pick<QuotaView, 'nextAt'>>,
  now: number,
  windowMs?: number,
): Estimate | undefined {
  if (!window?.limit || window.limit > UNLIMITED) return undefined;
  const length = windowMs ?? guessWindow(window.limit, window.resetAt - window.seenAt);
  const planned = DAILY_LIMITS[window.limit];
  const assumed = planned && { limit: planned, remaining: planned, resetAt: now + DAY_MS, over: false };
  const day = longWindow?.limit ? longWindow : assumed;
  // A reset may have been rounded down, so the next request goes a little later.
  const firstAt = requests > 0 ? (nextAt ?? now) : now;
  const byWindow = Math.max(firstAt - now, timeNeeded(requests, window, length, now));
  const byDay = day ? timeNeeded(requests, day, DAY_MS, now) : 0;
  if (day && byDay > byWindow) return { ms: byDay, limit: day.limit ?? 0, windowMs: DAY_MS, isDaily: true };
  return { ms: byWindow, limit: window.limit, windowMs: length, isDaily: false };
}

/**
 * Guesses the length of a window: the headers give its end only. For the documented plans it is a minute.
 * @param toReset the longest time from a response to the end of its window, milliseconds
 */
function guessWindow(limit: number, toReset: number): number {
  if (limit in DAILY_LIMITS) return MINUTE_MS;
  return USUAL_WINDOWS_MS.find((length) => length >= toReset) ?? DAY_MS;
}

// The last of the resets that have to be waited for.
function timeNeeded(
  requests: number,
  { limit = 1, remaining, over, resetAt }: Pick<WindowView, 'limit' | 'remaining' | 'over' | 'resetAt'>,
  length: number,
  now: number,
): number {
  const resets = Math.ceil(Math.max(0, requests - (over ? limit : remaining)) / limit);
  const toReset = over ? length : Math.max(0, resetAt - now);
  return resets === 0 ? 0 : toReset + (resets - 1) * length;
}

/** @returns for example `34 min (60 requests per minute)` */
export function formatEstimate({ ms, limit, windowMs }: Estimate): string {
  const units = new Map([
    [1000, 'second'],
    [MINUTE_MS, 'minute'],
    [HOUR_MS, 'hour'],
    [DAY_MS, 'day'],
  ]);
  const unit = units.get(windowMs) ?? `${Math.ceil(windowMs / 1000)}s`;
  return `${formatTime(ms)} (${formatCount(limit, 'request')} per ${unit})`;
}

/** @returns for example `41s`, `34 min`, `2 h 5 min`, `3 days 4 h`, rounded up */
export function formatTime(ms: number): string {
  const seconds = Math.ceil(Math.max(0, ms) / 1000);
  if (seconds < 60) return `${seconds}s`;
  const minutes = Math.ceil(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return minutes % 60 === 0 ? `${hours} h` : `${hours} h ${minutes % 60} min`;
  const days = Math.floor(hours / 24);
  return hours % 24 === 0 ? formatCount(days, 'day') : `${formatCount(days, 'day')} ${hours % 24} h`;
}

export function dailyNotice(rows: number, estimated: Estimate | undefined): string | undefined {
  if (!estimated?.isDaily) return undefined;
  return `${formatCount(rows, 'row')} exceed the daily limit of ${formatNumber(estimated.limit)} requests`;
}

/** In rows. */
interface Progress {
  readonly done: number;
  readonly created: number;
  readonly unknown: number;
}

/**
 * The line of an import at work: rows done of total, time left, and what is left of the quota.
 * @param total how many rows the import has
 * @param waiting whether the run waits for the rate limit: the wait is shown behind the line, and no quota then
 */
export function startProgressLine(
  total: number,
  clock: Clock,
  quota: () => QuotaView,
  waiting: () => boolean,
): (results: Progress) => string {
  const windowLength = measureWindow();
  let last: number | undefined;
  let activeMs = 0;
  return (results) => {
    const now = clock.monotonic();
    if (!waiting()) activeMs += now - (last ?? now);
    last = now;
    const view = quota();
    const { window } = view;
    const parts = [`${formatNumber(results.done)} of ${formatNumber(total)} rows`];
    const rows = total - results.done;
    const limited = estimate(rows, view, clock.now(), windowLength(window))?.ms ?? 0;
    const paced = results.created > 0 ? (activeMs / results.created) * rows : 0;
    if (rows > 0 && Math.max(limited, paced) > 0) parts.push(`${formatTime(Math.max(limited, paced))} left`);
    if (window && !window.over && !waiting()) {
      parts.push(`quota ${window.remaining}${window.limit === undefined ? '' : ` of ${window.limit}`} left`);
    }
    if (results.unknown > 0) parts.push(`${formatNumber(results.unknown)} to look up`);
    return parts.join(' · ');
  };
}

// The headers do not give a window's length; two successive resets do.
function measureWindow(): (window: QuotaView['window']) => number | undefined {
  let reset: number | undefined;
  let measured: number | undefined;
  let toReset = 0;
  return (window) => {
    if (!window?.limit) return measured;
    if (reset !== undefined && window.resetAt - reset > SAME_RESET_MS) measured = window.resetAt - reset;
    reset = window.resetAt;
    toReset = Math.max(toReset, window.resetAt - window.seenAt);
    return measured ?? guessWindow(window.limit, toReset);
  };
}
