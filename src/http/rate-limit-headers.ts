// What a response's rate-limit and Retry-After headers say, read strictly: pure, no clock, nothing guessed.
import type { Head, HttpHeaders } from './types.ts';

/** When the limit resets, as the service reported it. */
interface ResetTime {
  /** Epoch milliseconds: by the service's clock, or by ours where it sent a number of seconds from now. */
  readonly at: number;
  readonly clock: 'server' | 'local';
  /** The value's unit in milliseconds: 1000 for whole seconds. */
  readonly resolution: number;
}

/** What the headers of one response say; what is absent, malformed or contradictory is undefined. */
export interface RateLimitInfo {
  readonly limit: number | undefined;
  readonly remaining: number | undefined;
  readonly reset: ResetTime | undefined;
  /** Milliseconds from the response to the reset, by the service's clock; never negative. */
  readonly resetInMs: number | undefined;
  /** Milliseconds to wait, on 429 and 503; undefined where no header says. */
  readonly waitMs: number | undefined;
  readonly waitFrom: 'retry-after' | 'reset' | 'backoff';
  /** Bounds of the service's clock minus ours, milliseconds, where the response has a `Date` of its own. */
  readonly offset: { readonly lo: number; readonly hi: number } | undefined;
}

// Farther times are no resets and no waits.
const FARTHEST_MS = 32 * 86_400_000;
// A time so short ago counts as now: it was rounded, and it travelled.
const PAST_SLACK_MS = 5000;
// A 429 waits for a reset beyond its Retry-After only up to here: farther resets belong to another window, the day's.
const NEAR_MS = 120_000;
// Numbers below this cannot be Unix timestamps.
const OLDEST_TIMESTAMP = 1e9;
const LONGEST_DELTA_S = 172_800;
const DECIMAL = /^\d{1,16}(?:\.\d{1,9})?$/;

/**
 * Reads what a response says about the rate limit (docs/service.md; RFC 9110, 10.2.3).
 * @param offsetMs the service's clock minus ours, as earlier responses showed it; used where this one has no `Date`
 */
export function parseRateLimitHeaders(head: Head, offsetMs = 0): RateLimitInfo {
  const { headers, receivedAt, sentAt } = head;
  const date = ownDate(headers);
  const serverNow = date ?? receivedAt + offsetMs;
  const { limit, remaining } = counts(headers);
  const reset = readReset(single(headers['x-ratelimit-reset']), serverNow, receivedAt);
  const resetInMs = reset && Math.max(0, reset.at - (reset.clock === 'server' ? serverNow : receivedAt));
  const retryAfter = readRetryAfter(single(headers['retry-after']), serverNow, resetInMs);
  const offset =
    date === undefined ? undefined : { lo: date - receivedAt, hi: date + 1000 - Math.min(sentAt, receivedAt) };
  return { limit, remaining, reset, resetInMs, ...waitOf(head.status, retryAfter, remaining, resetInMs), offset };
}

// More left than the limit is a contradiction: which of the two is wrong cannot be known.
function counts(headers: HttpHeaders): Pick<RateLimitInfo, 'limit' | 'remaining'> {
  const stated = count(headers['x-ratelimit-limit']);
  const left = count(headers['x-ratelimit-remaining']);
  const limit = stated === undefined || stated <= 0 ? undefined : stated;
  if (limit !== undefined && left !== undefined && left > limit) return { limit: undefined, remaining: undefined };
  return { limit, remaining: left === undefined ? undefined : Math.max(0, left) };
}

// A 429 with nothing left means both its Retry-After and its reset; a 503 has a Retry-After only.
function waitOf(
  status: number,
  retryAfter: number | undefined,
  remaining: number | undefined,
  resetInMs: number | undefined,
): Pick<RateLimitInfo, 'waitMs' | 'waitFrom'> {
  if (status === 503 && retryAfter !== undefined) return { waitMs: retryAfter, waitFrom: 'retry-after' };
  if (status !== 429) return { waitMs: undefined, waitFrom: 'backoff' };
  const exhausted = (remaining ?? 0) === 0;
  const near = resetInMs !== undefined && resetInMs <= NEAR_MS;
  if (retryAfter !== undefined) {
    if (exhausted && near && resetInMs > retryAfter) return { waitMs: resetInMs, waitFrom: 'reset' };
    return { waitMs: retryAfter, waitFrom: 'retry-after' };
  }
  if (near || (resetInMs !== undefined && exhausted)) return { waitMs: resetInMs, waitFrom: 'reset' };
  return { waitMs: undefined, waitFrom: 'backoff' };
}

// A cached response tells when it was stored: its Date is no clock.
function ownDate(headers: HttpHeaders): number | undefined {
  const age = single(headers['age']);
  if (age !== undefined && age !== '0') return undefined;
  return httpDate(single(headers['date']) ?? '');
}

// A header that was sent twice with two values contradicts itself and is ignored.
function single(value: string | readonly string[] | undefined): string | undefined {
  const parts = (typeof value === 'string' ? [value] : (value ?? [])).map((part) => part.trim());
  return parts.length > 0 && parts.every((part) => part === parts[0]) ? parts[0] : undefined;
}

function count(value: string | readonly string[] | undefined): number | undefined {
  const text = single(value) ?? '';
  return /^-?\d{1,15}$/.test(text) ? Number(text) : undefined;
}

function readReset(text: string | undefined, serverNow: number, receivedAt: number): ResetTime | undefined {
  if (text === undefined) return undefined;
  const reset = DECIMAL.test(text) ? numericReset(text, receivedAt) : datedReset(text);
  if (!reset) return undefined;
  const distance = reset.at - (reset.clock === 'server' ? serverNow : receivedAt);
  return distance < -PAST_SLACK_MS || distance > FARTHEST_MS ? undefined : reset;
}

// A timestamp in seconds or milliseconds, by its size; a small number counts seconds from now.
function numericReset(text: string, receivedAt: number): ResetTime | undefined {
  const value = Number(text);
  // Digits behind the point show the unit: 0.1 s for one of them.
  const unit = 10 ** (3 - Math.min(3, text.split('.')[1]?.length ?? 0));
  if (value >= 1e11) return { at: Math.ceil(value), clock: 'server', resolution: 1 };
  if (value >= OLDEST_TIMESTAMP) return { at: Math.ceil(value * 1000), clock: 'server', resolution: unit };
  if (value > LONGEST_DELTA_S) return undefined;
  return { at: Math.ceil(receivedAt + value * 1000), clock: 'local', resolution: unit };
}

function datedReset(text: string): ResetTime | undefined {
  const at = httpDate(text);
  return at === undefined ? undefined : { at, clock: 'server', resolution: 1000 };
}

function readRetryAfter(
  text: string | undefined,
  serverNow: number,
  resetInMs: number | undefined,
): number | undefined {
  if (text === undefined) return undefined;
  if (DECIMAL.test(text)) return numericDelay(Number(text), serverNow, resetInMs);
  const at = httpDate(text);
  return at === undefined ? undefined : Math.max(0, at - serverNow);
}

function numericDelay(value: number, serverNow: number, resetInMs: number | undefined): number | undefined {
  if (value >= OLDEST_TIMESTAMP) {
    const wait = (value >= 1e11 ? value : value * 1000) - serverNow;
    return wait < -PAST_SLACK_MS || wait > FARTHEST_MS ? undefined : Math.max(0, wait);
  }
  // Milliseconds only where the reset says the same: no wait is shortened on a guess.
  const seconds = value * 1000;
  const isMs = resetInMs !== undefined && Math.abs(value - resetInMs) <= 2000 && Math.abs(seconds - resetInMs) > 60_000;
  return Math.ceil(value >= 1000 && isMs ? value : seconds);
}

const RFC_850 = /^[A-Za-z]{6,9}, (\d{2})-([A-Za-z]{3})-(\d{2}) ([\d:]{8}) GMT$/;
const ASCTIME = /^[A-Za-z]{3} ([A-Za-z]{3}) ([ \d]\d) ([\d:]{8}) (\d{4})$/;

// The three forms of RFC 9110, 5.6.7, the obsolete two written as the first. Date.parse accepts far more than a date that
// prints as it was given.
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
