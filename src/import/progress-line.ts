// One line on how far an import is: done of total, rate, what is left of the quota, time left.
import type { Clock } from '../clock.ts';
import { formatDuration } from '../duration.ts';
import type { QuotaView } from '../rate-limit/quota-view.ts';
import { estimate } from './estimate.ts';
import type { ImportResults } from './results.ts';

/** How often the line is made anew at most, in milliseconds. */
const EVERY_MS = 100;
/** Resets that differ by less are the same one, told twice; milliseconds. */
const SAME_RESET_MS = 900;

/**
 * Follows an import.
 * @param total how many rows it has
 * @param clock times it
 * @param quota what is known of the quota now
 * @returns makes the line; the same again where it was made a moment ago
 */
export function startProgressLine(
  total: number,
  clock: Clock,
  quota: () => QuotaView,
): (results: ImportResults) => string {
  const begun = clock.monotonic();
  const measure = windowLength();
  let last = Number.NEGATIVE_INFINITY;
  let line = '';
  return (results) => {
    const now = clock.monotonic();
    if (now - last < EVERY_MS) return line;
    last = now;
    const view = quota();
    const windowMs = measure(view.window);
    const rate = (1000 * results.count('created')) / Math.max(1, now - begun);
    const parts = [`${results.done} of ${total} rows`];
    if (results.count('created') > 0) parts.push(`${rate < 10 ? rate.toFixed(1) : Math.round(rate)}/s`);
    const { window } = view;
    if (window && !window.over)
      parts.push(`quota ${window.remaining}${window.limit ? ` of ${window.limit}` : ''} left`);
    const left = total - results.done;
    if (left > 0 && results.count('created') > 0) {
      const ends = estimate(left, view, clock.now(), windowMs).endsAt ?? 0;
      parts.push(`about ${formatDuration(Math.max(ends - clock.now(), (1000 * left) / rate))} left`);
    }
    if (results.count('unknown') > 0) parts.push(`${results.count('unknown')} to look up`);
    line = parts.join(' · ');
    return line;
  };
}

// The headers do not tell how long a window is; two resets one after the other do.
function windowLength(): (window: QuotaView['window']) => number | undefined {
  let reset: number | undefined;
  let length: number | undefined;
  return (window) => {
    if (!window || window.over) return length;
    if (reset !== undefined && window.resetAt - reset > SAME_RESET_MS) length = window.resetAt - reset;
    reset = window.resetAt;
    return length;
  };
}
