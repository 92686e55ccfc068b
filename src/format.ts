// Numbers, times and quotas as people read them.

/**
 * Writes a moment as the local time of day, with the date when that is another day.
 * @param at epoch milliseconds
 * @param now epoch milliseconds
 * @returns for example `14:05` or `2026-11-23 14:05`
 */
export function localTime(at: number, now: number): string {
  const two = (value: number): string => String(value).padStart(2, '0');
  const day = (date: Date): string => `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  const [then, today] = [new Date(at), new Date(now)];
  const clock = `${two(then.getHours())}:${two(then.getMinutes())}`;
  return day(then) === day(today) ? clock : `${day(then)} ${clock}`;
}

/** Writes a number with a thousands separator. */
export function formatNumber(value: number): string {
  return value.toLocaleString('en-US');
}

/** A limit above this is a plan without one. */
const UNLIMITED = 1_000_000;

/** Writes what is left of a rate limit: `57 of 60`, or `unlimited`. */
export function formatRemaining(remaining: number, limit: number | undefined): string {
  if (limit === undefined) return formatNumber(remaining);
  return limit > UNLIMITED ? 'unlimited' : `${formatNumber(remaining)} of ${formatNumber(limit)}`;
}
