// Formats the estimated time of an import, and its progress line.
import type { Clock } from '../../../clock.ts';
import type { Estimate } from '../../../import/estimate.ts';
import { DAY_MS, estimateDuration, MINUTE_MS, WindowLengths } from '../../../import/estimate.ts';
import type { ImportResults } from '../../../import/results.ts';
import type { Quota } from '../../../rate-limit/quota.ts';
import { windowIn } from '../../../rate-limit/quota.ts';
import { formatCount, formatDuration, formatNumber, formatRemaining } from '../../../text/format.ts';

interface Progress {
  readonly counts: ImportResults['counts'];
  readonly quota: Quota;
  /** During a wait, which the caller shows, the line omits the quota. */
  readonly isWaiting: boolean;
  /** The width of the line, in cells. */
  readonly room: number;
}

/** @returns for example `34m at 60 requests per minute` */
export function formatEstimate({ ms, limit, windowMs }: Estimate): string {
  if (limit === undefined) return 'unknown';
  if (ms === null) return 'unknown until the rate limit resets';
  if (ms === 0) return 'no wait for the rate limit';
  const per = windowMs === MINUTE_MS ? 'minute' : windowMs === DAY_MS ? 'day' : undefined;
  return per ? `${formatRough(ms)} at ${formatCount(limit, 'request')} per ${per}` : formatRough(ms);
}

// Shows seconds below two minutes.
function formatRough(ms: number): string {
  return formatDuration(ms < 2 * MINUTE_MS ? ms : Math.round(ms / MINUTE_MS) * MINUTE_MS);
}

/** @returns a function that formats the progress line: rows done, time left, quota, unknown rows */
export function progressLineFormatter(total: number, clock: Clock): (progress: Progress) => string {
  const pace = new Pace(clock);
  const lengths = new WindowLengths();
  return ({ counts: { exists, created, failed, unknown }, quota, isWaiting, room }) => {
    const done = exists + created + failed;
    const window = windowIn(quota);
    // If the window is unknown, the estimate lacks the waits, so the pace includes them.
    pace.tick(!isWaiting || !window);
    const rows = total - done;
    const { ms } = estimateDuration(rows, quota, clock.now(), window && lengths.observe(window));
    const isUnknown = window !== undefined && ms === null;
    const left = isUnknown ? 0 : Math.max(ms ?? 0, rows * pace.msPerRow(created));
    const parts: string[] = [];
    if (rows > 0 && left > 0) parts.push(`${formatRough(left)} left`);
    if (window && window.remaining !== null && !isWaiting)
      parts.push(`quota ${formatRemaining(window.remaining, window.limit)}`);
    if (unknown > 0) parts.push(`${formatNumber(unknown)} unconfirmed`);
    const start = `${formatNumber(done)} of ${formatNumber(total)}`;
    return parts.reduce((line, part) => (line.length + 3 + part.length > room ? line : `${line} · ${part}`), start);
  };
}

/** Measures how long a row takes, without the time that `tick` excludes. */
class Pace {
  readonly #clock: Clock;
  #lastTick: number | undefined;
  #activeMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** @param isActive whether the time since the last tick counts; the time before the first one does not */
  tick(isActive: boolean): void {
    const now = this.#clock.monotonic();
    if (isActive) this.#activeMs += now - (this.#lastTick ?? now);
    this.#lastTick = now;
  }

  msPerRow(created: number): number {
    return created > 0 ? this.#activeMs / created : 0;
  }
}
