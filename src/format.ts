// Numbers, times and quotas as people read them.

/** The local time of day, with the date on another day: `14:05`, `2026-11-23 14:05`. Both are epoch milliseconds. */
export function localTime(at: number, now: number): string {
  const two = (value: number): string => String(value).padStart(2, '0');
  const day = (date: Date): string => `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  const [then, today] = [new Date(at), new Date(now)];
  const clock = `${two(then.getHours())}:${two(then.getMinutes())}`;
  return day(then) === day(today) ? clock : `${day(then)} ${clock}`;
}

/** With a thousands separator. */
export function formatNumber(value: number): string {
  return String(value).replace(/\B(?=(?:\d{3})+$)/g, ',');
}

/** For example `1 row`, `2,000 rows`. */
export function formatCount(count: number, one: string, many = `${one}s`): string {
  return `${formatNumber(count)} ${count === 1 ? one : many}`;
}

/** A limit above this is a plan without one. */
const UNLIMITED = 1_000_000;

/** Writes what is left of a rate limit: `57 of 60`, or `unlimited`. */
export function formatRemaining(remaining: number, limit: number | undefined): string {
  if (limit === undefined) return formatNumber(remaining);
  return limit > UNLIMITED ? 'unlimited' : `${formatNumber(remaining)} of ${formatNumber(limit)}`;
}
