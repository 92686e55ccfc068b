// Parses the rate-limit headers that docs/service.md documents: pure, no clock. Everything else is ignored.
import type { RateLimitReading } from '../rate-limit/key-state.ts';
import type { ResponseHead } from './types.ts';

// Resets farther ahead are ignored, and longer waits are capped at this time.
const MAX_AHEAD_MS = 32 * 86_400_000;
// Rounding and network delay may put a time slightly into the past.
const PAST_SLACK_MS = 5000;
// A reset farther ahead belongs to the daily window, so an earlier Retry-After decides alone.
const NEAR_MS = 120_000;
// A Retry-After from these numbers on can only be a Unix timestamp, in seconds or in milliseconds.
const TIMESTAMP = 1e9;
const TIMESTAMP_IN_MS = 1e11;
// A Retry-After from this number on is in milliseconds if the reset, within its rounding, confirms this.
const PERHAPS_MS = 1000;
const RESET_ROUNDING_MS = 2000;
const DECIMAL = /^\d+(?:\.\d{1,9})?$/;

/**
 * Parses the head of a response (docs/rate-limits.md, Headers).
 * @param refused whether the response is a refusal (docs/rate-limits.md)
 */
export function parseRateLimitHeaders(head: ResponseHead, refused: boolean): RateLimitReading {
  const quota = { ...counts(head), resetInMs: resetIn(head) };
  return { status: head.status, refused, ...quota, ...waitOf(head.status, retryAfterMs(head), quota) };
}

/** The wait that Retry-After states, in milliseconds from the arrival of the response. */
export function retryAfterMs(head: ResponseHead): number | undefined {
  const text = head.headers['retry-after'] ?? '';
  const date = httpDate(text);
  const ms = date === undefined ? numericWait(text, head) : date - serviceTime(head);
  return ms === undefined ? undefined : Math.min(MAX_AHEAD_MS, Math.max(0, Math.ceil(ms)));
}

// The unit is not documented: seconds (RFC 9110, 10.2.3), unless only another unit is possible.
function numericWait(text: string, head: ResponseHead): number | undefined {
  if (!DECIMAL.test(text)) return undefined;
  const value = Number(text);
  if (value >= TIMESTAMP) {
    const wait = (value >= TIMESTAMP_IN_MS ? value : value * 1000) - serviceTime(head);
    return wait < -PAST_SLACK_MS ? undefined : wait;
  }
  const difference = Math.abs(value - (resetIn(head) ?? Number.POSITIVE_INFINITY));
  return value >= PERHAPS_MS && difference <= RESET_ROUNDING_MS ? value : value * 1000;
}

type QuotaHeaders = Pick<RateLimitReading, 'limit' | 'remaining' | 'resetInMs'>;
type StatedWait = Pick<RateLimitReading, 'waitMs' | 'waitFrom'>;

const NO_WAIT: StatedWait = { waitMs: undefined, waitFrom: 'backoff' };

function waitOf(status: number, retryAfter: number | undefined, { remaining, resetInMs }: QuotaHeaders): StatedWait {
  if (status !== 429 && status !== 503) return NO_WAIT;
  const byRetryAfter: StatedWait = retryAfter === undefined ? NO_WAIT : { waitMs: retryAfter, waitFrom: 'retry_after' };
  // The reset of a 503 is that of a window that has not refused the request.
  if (status === 503 || resetInMs === undefined) return byRetryAfter;
  const byReset: StatedWait = { waitMs: resetInMs, waitFrom: 'reset' };
  const isNear = resetInMs <= NEAR_MS;
  const isExhausted = (remaining ?? 0) === 0;
  if (retryAfter === undefined) return isNear || isExhausted ? byReset : NO_WAIT;
  // If nothing is left and the reset is near, the later of reset and Retry-After counts.
  return isNear && isExhausted && resetInMs > retryAfter ? byReset : byRetryAfter;
}

// A remaining number above the limit is a contradiction, so both are ignored.
function counts({ headers }: ResponseHead): Pick<QuotaHeaders, 'limit' | 'remaining'> {
  const limit = parseCount(headers['x-ratelimit-limit']) || undefined;
  const remaining = parseCount(headers['x-ratelimit-remaining']);
  return (remaining ?? 0) > (limit ?? Number.POSITIVE_INFINITY) ? {} : { limit, remaining };
}

function parseCount(text = ''): number | undefined {
  return /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

// The reset is a Unix timestamp: other numbers are too far in the past or ahead.
function resetIn(head: ResponseHead): number | undefined {
  const text = head.headers['x-ratelimit-reset'] ?? '';
  if (!DECIMAL.test(text)) return undefined;
  const ms = Number(text) * 1000 - serviceTime(head);
  return ms < -PAST_SLACK_MS || ms > MAX_AHEAD_MS ? undefined : Math.max(0, Math.ceil(ms));
}

// The service's own `Date`, unless `Age` shows that the response comes from a cache; otherwise the time of this machine's clock.
function serviceTime({ headers, receivedAt }: ResponseHead): number {
  const isCached = (headers['age'] ?? '0') !== '0';
  return (isCached ? undefined : httpDate(headers['date'] ?? '')) ?? receivedAt;
}

// Reads the preferred format of RFC 9110, 5.6.7, only. Date.parse accepts others, so the parsed date must print as the same text.
function httpDate(text: string): number | undefined {
  const at = Date.parse(text);
  return !Number.isNaN(at) && new Date(at).toUTCString() === text ? at : undefined;
}
