// Parses rate-limit and Retry-After headers strictly: pure, no clock. Absent, malformed and contradictory values are undefined.
import type { Observation } from '../rate-limit/ledger-record.ts';
import type { Head, HttpHeaders } from './types.ts';

// Resets farther ahead are ignored, and longer waits are cut to this.
const FARTHEST_MS = 32 * 86_400_000;
// Rounding and network delay may put a time slightly into the past.
const PAST_SLACK_MS = 5000;
// A reset farther ahead belongs to the daily window, so an earlier Retry-After decides alone.
const NEAR_MS = 120_000;
// Numbers below this cannot be Unix timestamps.
const OLDEST_TIMESTAMP = 1e9;
const LONGEST_DELTA_MS = 172_800_000;
const DECIMAL = /^\d+(?:\.\d{1,9})?$/;

/**
 * Parses the head of a response (docs/service.md; RFC 9110, 10.2.3). Timestamps and dates are compared with its own `Date`; if
 * there is none, with our clock.
 * @param refused whether the response is a refusal (docs/rate-limits.md)
 */
export function parseRateLimitHeaders(head: Head, refused: boolean): Observation {
  const { status, receivedAt, sentAt } = head;
  const headers = withDraft(head.headers);
  const serviceNow = ownDate(headers) ?? receivedAt;
  const { limit, remaining } = counts(headers);
  const resetInMs = resetIn(timeFrom(headers['x-ratelimit-reset'], serviceNow));
  const wait = waitOf(status, retryIn(timeFrom(headers['retry-after'], serviceNow), resetInMs), remaining, resetInMs);
  const tookMs = Math.max(0, Math.ceil(receivedAt - sentAt));
  return { at: Math.round(receivedAt), tookMs, status, refused, limit, remaining, resetInMs, ...wait };
}

// Reads the header of draft-ietf-httpapi-ratelimit-headers-10 if the service sends no other, for example
// `RateLimit: "default";r=50;t=30`: 50 requests left, and 30 s until the reset.
function withDraft(headers: HttpHeaders): HttpHeaders {
  const draft = headers['ratelimit']?.replaceAll(' ', '') ?? '';
  const [, remaining, reset] = /^"[^",]*";r=(\d{1,15});t=(\d{1,9})$/.exec(draft) ?? [];
  const hasOwn = ['limit', 'remaining', 'reset'].some((name) => headers[`x-ratelimit-${name}`] !== undefined);
  if (hasOwn || remaining === undefined || reset === undefined) return headers;
  return { ...headers, 'x-ratelimit-remaining': remaining, 'x-ratelimit-reset': reset };
}

// More left than the limit is a contradiction, so both are ignored.
function counts(headers: HttpHeaders): Pick<Observation, 'limit' | 'remaining'> {
  const stated = count(headers['x-ratelimit-limit']);
  const left = count(headers['x-ratelimit-remaining']);
  const limit = stated === undefined || stated <= 0 ? undefined : stated;
  if (limit !== undefined && left !== undefined && left > limit) return { limit: undefined, remaining: undefined };
  return { limit, remaining: left === undefined ? undefined : Math.max(0, left) };
}

// After a 429 with nothing left, the later of Retry-After and reset counts; after a 503 only Retry-After does.
function waitOf(
  status: number,
  retryAfter: number | undefined,
  remaining: number | undefined,
  resetInMs: number | undefined,
): Pick<Observation, 'waitMs' | 'waitFrom'> {
  if (status === 503 && retryAfter !== undefined) return { waitMs: retryAfter, waitFrom: 'retry_after' };
  if (status !== 429) return { waitMs: undefined, waitFrom: 'backoff' };
  const exhausted = (remaining ?? 0) === 0;
  const near = resetInMs !== undefined && resetInMs <= NEAR_MS;
  if (retryAfter !== undefined) {
    if (exhausted && near && resetInMs > retryAfter) return { waitMs: resetInMs, waitFrom: 'reset' };
    return { waitMs: retryAfter, waitFrom: 'retry_after' };
  }
  if (near || (resetInMs !== undefined && exhausted)) return { waitMs: resetInMs, waitFrom: 'reset' };
  return { waitMs: undefined, waitFrom: 'backoff' };
}

// The Date of a cached response is older than the response.
function ownDate(headers: HttpHeaders): number | undefined {
  const { age = '0', date = '' } = headers;
  return age === '0' ? httpDate(date) : undefined;
}

function count(text = ''): number | undefined {
  return /^-?\d{1,15}$/.test(text) ? Number(text) : undefined;
}

/** A time in milliseconds from now; `isDelta` if the header states it so. */
interface TimeFromNow {
  readonly ms: number;
  readonly isDelta: boolean;
}

// Reads large numbers as timestamps in seconds or milliseconds, unless they have passed, and small ones as seconds from now.
function timeFrom(text: string | undefined, serviceNow: number): TimeFromNow | undefined {
  if (text === undefined) return undefined;
  if (!DECIMAL.test(text)) {
    const at = httpDate(text);
    return at === undefined ? undefined : { ms: Math.ceil(at - serviceNow), isDelta: false };
  }
  const value = Number(text);
  if (value < OLDEST_TIMESTAMP) return { ms: Math.ceil(value * 1000), isDelta: true };
  const ms = Math.ceil((value >= 1e11 ? value : value * 1000) - serviceNow);
  return ms < -PAST_SLACK_MS ? undefined : { ms, isDelta: false };
}

function resetIn(time: TimeFromNow | undefined): number | undefined {
  if (!time || time.ms < -PAST_SLACK_MS || time.ms > (time.isDelta ? LONGEST_DELTA_MS : FARTHEST_MS)) return undefined;
  return Math.max(0, time.ms);
}

function retryIn(time: TimeFromNow | undefined, resetInMs: number | undefined): number | undefined {
  if (!time) return undefined;
  const { ms, isDelta } = time;
  if (!isDelta) return Math.min(FARTHEST_MS, Math.max(0, ms));
  // Milliseconds only if the reset confirms them: a guess must not shorten a wait.
  const value = ms / 1000;
  const isMs = resetInMs !== undefined && Math.abs(value - resetInMs) <= 2000 && Math.abs(ms - resetInMs) > 60_000;
  return value >= 1000 && isMs ? Math.ceil(value) : ms;
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
  return new Date(at).toUTCString().slice(5) === date.slice(5) ? at : undefined;
}
