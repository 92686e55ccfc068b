// Parses rate-limit and Retry-After headers strictly: pure, no clock. Absent, malformed and contradictory values are undefined.
import type { RateLimitReading } from '../rate-limit/ledger-record.ts';
import type { ResponseHead } from './types.ts';

// Resets farther ahead than this are ignored, and longer waits are shortened to it.
const FARTHEST_MS = 32 * 86_400_000;
const LONGEST_DELTA_MS = 2 * 86_400_000;
// Rounding and network delay may put a time slightly into the past.
const PAST_SLACK_MS = 5000;
// A reset farther ahead belongs to the daily window, so an earlier Retry-After decides alone.
const NEAR_MS = 120_000;
// From these numbers on, a number is a Unix timestamp in seconds or in milliseconds.
const OLDEST_TIMESTAMP = 1e9;
const OLDEST_TIMESTAMP_MS = 1e11;
const DECIMAL = /^\d+(?:\.\d{1,9})?$/;

/**
 * Parses the head of a response (docs/service.md; RFC 9110, 10.2.3). Timestamps and dates are compared with its own `Date`; if
 * there is none, with our clock.
 * @param refused whether the response is a refusal (docs/rate-limits.md)
 */
export function parseRateLimitHeaders(head: ResponseHead, refused: boolean): RateLimitReading {
  const quota = { ...counts(quotaHeaders(head)), resetInMs: resetIn(head) };
  return { status: head.status, refused, ...quota, ...waitOf(head.status, retryAfterMs(head), quota) };
}

/** The wait that Retry-After states, in milliseconds from the arrival of the response. */
export function retryAfterMs(head: ResponseHead): number | undefined {
  const text = head.headers['retry-after'];
  if (isInMilliseconds(text, resetIn(head))) return Math.ceil(Number(text));
  const ms = timeFrom(text, head);
  return ms === undefined ? undefined : Math.min(FARTHEST_MS, Math.max(0, ms));
}

// Requires that the reset confirms it: a guess must not shorten a wait.
function isInMilliseconds(text = '', resetInMs: number | undefined): boolean {
  if (resetInMs === undefined || !DECIMAL.test(text)) return false;
  const value = Number(text);
  return value >= 1000 && value < OLDEST_TIMESTAMP && Math.abs(value - resetInMs) <= 2000;
}

type Quota = Pick<RateLimitReading, 'limit' | 'remaining' | 'resetInMs'>;
type StatedWait = Pick<RateLimitReading, 'waitMs' | 'waitFrom'>;

const NO_WAIT: StatedWait = { waitMs: undefined, waitFrom: 'backoff' };

function waitOf(status: number, retryAfter: number | undefined, { remaining, resetInMs }: Quota): StatedWait {
  if (status !== 429 && status !== 503) return NO_WAIT;
  const byRetryAfter: StatedWait = retryAfter === undefined ? NO_WAIT : { waitMs: retryAfter, waitFrom: 'retry_after' };
  // The reset of a 503 is that of a window that has not refused the request.
  if (status === 503 || resetInMs === undefined) return byRetryAfter;
  const byReset: StatedWait = { waitMs: resetInMs, waitFrom: 'reset' };
  const isNear = resetInMs <= NEAR_MS;
  const isExhausted = (remaining ?? 0) === 0;
  if (retryAfter === undefined) return isNear || isExhausted ? byReset : NO_WAIT;
  // If nothing is left and the reset is near, the later of the two counts.
  return isNear && isExhausted && resetInMs > retryAfter ? byReset : byRetryAfter;
}

interface QuotaHeaders {
  readonly limit?: string | undefined;
  readonly remaining?: string | undefined;
  readonly reset?: string | undefined;
}

// Reads the header of draft-ietf-httpapi-ratelimit-headers-10 if the service sends no other, for example
// `RateLimit: "default";r=50;t=30`: 50 requests left, and 30 s until the reset.
function quotaHeaders({ headers }: ResponseHead): QuotaHeaders {
  const [limit, remaining, reset] = ['limit', 'remaining', 'reset'].map((name) => headers[`x-ratelimit-${name}`]);
  if ((limit ?? remaining ?? reset) !== undefined) return { limit, remaining, reset };
  const draft = headers['ratelimit']?.replaceAll(' ', '') ?? '';
  const [, left, seconds] = /^"[^",]*";r=(\d{1,15});t=(\d{1,9})$/.exec(draft) ?? [];
  return { remaining: left, reset: seconds };
}

// More left than the limit is a contradiction, so both are ignored.
function counts({ limit, remaining }: QuotaHeaders): Pick<Quota, 'limit' | 'remaining'> {
  const most = count(limit) || undefined;
  const left = count(remaining);
  return (left ?? 0) > (most ?? Number.POSITIVE_INFINITY) ? {} : { limit: most, remaining: left };
}

function count(text = ''): number | undefined {
  return /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

// The milliseconds until the reset, unless it has passed or is too far ahead.
function resetIn(head: ResponseHead): number | undefined {
  const { reset } = quotaHeaders(head);
  const ms = timeFrom(reset, head);
  const farthest = Number(reset) < OLDEST_TIMESTAMP ? LONGEST_DELTA_MS : FARTHEST_MS;
  return ms === undefined || ms < -PAST_SLACK_MS || ms > farthest ? undefined : Math.max(0, ms);
}

// The milliseconds from now to a date, a timestamp that has not passed, or the end of a number of seconds.
function timeFrom(text: string | undefined, { headers, receivedAt }: ResponseHead): number | undefined {
  if (text === undefined) return undefined;
  // The Date of a cached response is older than the response.
  const ownDate = (headers['age'] ?? '0') === '0' ? httpDate(headers['date'] ?? '') : undefined;
  const now = ownDate ?? receivedAt;
  const date = httpDate(text);
  if (date !== undefined) return Math.ceil(date - now);
  if (!DECIMAL.test(text)) return undefined;
  const value = Number(text);
  if (value < OLDEST_TIMESTAMP) return Math.ceil(value * 1000);
  const ms = Math.ceil((value < OLDEST_TIMESTAMP_MS ? value * 1000 : value) - now);
  return ms < -PAST_SLACK_MS ? undefined : ms;
}

const RFC_850 = /^[A-Za-z]{6,9}, (\d{2})-([A-Za-z]{3})-(\d{2}) ([\d:]{8}) GMT$/;
const ASCTIME = /^[A-Za-z]{3} ([A-Za-z]{3}) ([ \d]\d) ([\d:]{8}) (\d{4})$/;

// Converts the two obsolete date formats of RFC 9110, 5.6.7, to the preferred one. Date.parse accepts other formats too, so
// the parsed date must print as the input.
function httpDate(text: string): number | undefined {
  const date = text
    .replace(RFC_850, 'Day, $1 $2 20$3 $4 GMT')
    .replace(
      ASCTIME,
      (_all, month, day: string, time, year) => `Day, ${day.replace(' ', '0')} ${month} ${year} ${time} GMT`,
    );
  const at = Date.parse(date);
  const isDate = !Number.isNaN(at) && new Date(at).toUTCString().slice(5) === date.slice(5);
  return isDate ? at : undefined;
}
