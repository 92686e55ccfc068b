// Numbers, times, durations and quotas, as people read and type them.

const UNITS = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1000, ms: 1 };

/**
 * Reads `500ms`, `30s`, `1.5m`, `1m30s`, or a number of seconds (docs/cli.md, global options).
 * @returns whole milliseconds; undefined for anything else
 */
export function parseDuration(text: string): number | undefined {
  const part = /(\d{1,12}(?:\.\d{1,9})?)(ms|[smhd])/g;
  const parts = /^[\d.]+$/.test(text.trim()) ? `${text.trim()}s` : text.trim();
  if (parts === '' || parts.replace(part, '') !== '') return undefined;
  const terms = [...parts.matchAll(part)].map(([, count, unit]) => Number(count) * UNITS[unit as keyof typeof UNITS]);
  const ms = Math.round(terms.reduce((sum, term) => sum + term));
  return Number.isSafeInteger(ms) ? ms : undefined;
}

/** A duration that the user chose, in milliseconds unless it is whole seconds: `1500ms`, `30s`, `1m 30s`. */
export function formatChosenDuration(ms: number): string {
  return ms % UNITS.s === 0 ? formatDuration(ms) : `${ms}ms`;
}

/** The two largest units, rounded up: `43s`, `2m 5s`, `2h 5m`, `1 day`, `2 days 3h`. */
export function formatDuration(ms: number): string {
  const seconds = Math.max(0, Math.ceil(ms / 1000));
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3600) return pair(`${Math.floor(seconds / 60)}m`, seconds % 60, 's');
  const minutes = Math.ceil(seconds / 60);
  if (minutes < 24 * 60) return pair(`${Math.floor(minutes / 60)}h`, minutes % 60, 'm');
  const hours = Math.ceil(minutes / 60);
  return pair(formatCount(Math.floor(hours / 24), 'day'), hours % 24, 'h');
}

function pair(large: string, small: number, unit: string): string {
  return small === 0 ? large : `${large} ${small}${unit}`;
}

/** The local time of day, with the date if that is another day: `14:05`, `2026-11-23 14:05`. Both parameters are epoch milliseconds. */
export function formatLocalTime(at: number, now: number): string {
  const local = (time: number): string => new Date(time - 60_000 * new Date(time).getTimezoneOffset()).toISOString();
  const [day = '', clock = ''] = local(at).split('T');
  return `${local(now).startsWith(day) ? '' : `${day} `}${clock.slice(0, 'HH:MM'.length)}`;
}

/** A time farther ahead is shown with the local time of day. */
const SHORT_WAIT_MS = 60_000;

/** For example `in 43s`, `in 5m 1s (at 14:05)`. Both parameters are epoch milliseconds. */
export function formatTime(at: number, now: number): string {
  return `in ${formatDuration(at - now)}${formatUntil(at, now, 'at')}`;
}

/** The end of a long wait, to append to its length: ` (until 14:05)`; empty for a short one. */
export function formatUntil(at: number, now: number, word = 'until'): string {
  return at - now > SHORT_WAIT_MS ? ` (${word} ${formatLocalTime(at, now)})` : '';
}

/** With a thousands separator. */
export function formatNumber(value: number): string {
  return String(value).replace(/\B(?=(?:\d{3})+$)/g, ',');
}

/** For example `1 row`, `2,000 rows`. */
export function formatCount(count: number, one: string, many = `${one}s`): string {
  return `${formatNumber(count)} ${count === 1 ? one : many}`;
}

/** A higher limit is shown as unlimited. */
const UNLIMITED = 1_000_000;

/** The remaining quota: `57 of 60`, or `unlimited`. */
export function formatRemaining(remaining: number, limit: number | null): string {
  if (limit === null) return formatNumber(remaining);
  return limit > UNLIMITED ? 'unlimited' : `${formatNumber(remaining)} of ${formatNumber(limit)}`;
}

/** The quota after a reset: `at most 60`, or `unlimited`. */
export function formatMaximum(limit: number): string {
  return limit > UNLIMITED ? 'unlimited' : `at most ${formatNumber(limit)}`;
}

/** For example `dog, cat, and 7 more`. */
export function formatSome(items: readonly string[], most: number): string {
  const more = items.length > most ? [`and ${formatNumber(items.length - most)} more`] : [];
  return [...items.slice(0, most), ...more].join(', ');
}

/** For example `table, json or csv`. */
export function formatChoices(words: readonly string[]): string {
  return words.join(', ').replace(/, ([^,]*)$/, ' or $1');
}

export function capitalize(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

/** Quotes text for a message, cut to 40 characters. */
export function quoted(text: string): string {
  return text.length > 40 ? `"${text.slice(0, 40)}…"` : `"${text}"`;
}
