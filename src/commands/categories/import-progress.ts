// The estimated time of an import for people, and its progress line.
import type { Clock } from '../../clock.ts';
import { formatCount, formatDuration, formatNumber, formatRemaining } from '../../format.ts';
import type { Estimate } from '../../import/estimate.ts';
import { estimate } from '../../import/estimate.ts';
import type { ImportResults } from '../../import/results.ts';
import type { Quota } from '../../rate-limit/quota.ts';
import { windowIn } from '../../rate-limit/quota.ts';

const MINUTE_MS = 60_000;
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
    if (window && window.remaining !== null && !isWaiting)
      parts.push(`quota ${formatRemaining(window.remaining, window.limit)}`);
    if (unknown > 0) parts.push(`${formatNumber(unknown)} to look up`);
    return parts.reduce((line, part) => (line.length + 3 + part.length > room ? line : `${line} · ${part}`), counts);
  };
}
