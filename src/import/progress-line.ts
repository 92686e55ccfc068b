// The progress line: rows done of total, time left, and what is left of the quota.
import type { Clock } from '../clock.ts';
import { formatNumber } from '../format.ts';
import type { QuotaView } from '../rate-limit/quota-view.ts';
import { estimate, formatTime, guessWindow } from './estimate.ts';
import type { ImportResults } from './results.ts';

/** Resets that differ by less belong to the same window; milliseconds. */
const SAME_RESET_MS = 900;

/**
 * @param total how many rows the import has
 * @param quota what is known of the quota now
 * @param waiting whether the run waits for the rate limit: the wait is shown behind the line, and no quota then
 */
export function startProgressLine(
  total: number,
  clock: Clock,
  quota: () => QuotaView,
  waiting: () => boolean,
): (results: ImportResults) => string {
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
    const created = results.count('created');
    const limited = estimate(rows, view, clock.now(), windowLength(window))?.ms ?? 0;
    const paced = created > 0 ? (activeMs / created) * rows : 0;
    if (rows > 0 && Math.max(limited, paced) > 0) parts.push(`${formatTime(Math.max(limited, paced))} left`);
    if (window && !window.over && !waiting()) {
      parts.push(`quota ${window.remaining}${window.limit === undefined ? '' : ` of ${window.limit}`} left`);
    }
    if (results.count('unknown') > 0) parts.push(`${formatNumber(results.count('unknown'))} to look up`);
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
