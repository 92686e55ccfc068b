// What a reply's rate-limit and Retry-After headers say, read strictly: pure, no clock, nothing guessed.
import { duration, HTTP_DATE_SLACK_MS, httpDate, isoDate } from './http-date.ts';
import type { HttpHeaders } from './types.ts';

/** When the limit resets, as the service said it. */
export interface ResetTime {
  /** Epoch milliseconds: by the service's clock, or by ours where it gave a number of seconds from now. */
  readonly at: number;
  readonly clock: 'server' | 'local';
  /** How fine the value is, in milliseconds: 1000 for whole seconds. */
  readonly resolution: number;
}

/** Where a wait comes from. */
export type WaitSource = 'retry-after' | 'reset' | 'max(RA,reset)' | 'reset(long)' | 'backoff' | 'none';

/** What the headers of one reply say; what is absent, malformed or contradictory is undefined. */
export interface RateLimitInfo {
  readonly limit: number | undefined;
  readonly remaining: number | undefined;
  readonly reset: ResetTime | undefined;
  /** Milliseconds from the receipt to the reset, by the service's clock; never negative. */
  readonly resetInMs: number | undefined;
  /** Milliseconds to wait from the receipt, on 429 and 503; undefined where no header says. */
  readonly waitMs: number | undefined;
  readonly from: WaitSource;
  /** Bounds of (service's clock - ours) in milliseconds, where the reply has a Date of its own. */
  readonly offset: { readonly lo: number; readonly hi: number } | undefined;
}

/** One reply's head: what `readHeaders` looks at. Times are epoch milliseconds by our clock. */
export interface ResponseHead {
  readonly status: number;
  readonly headers: HttpHeaders;
  readonly receivedAt: number;
  readonly sentAt: number;
}

const DAY_MS = 86_400_000;
const FARTHEST_MS = 32 * DAY_MS;
const PAST_SLACK_MS = HTTP_DATE_SLACK_MS;
// A reset that a 429 is held to beyond its Retry-After: farther ones belong to another window (the daily one).
const NEAR_MS = 120_000;
const DECIMAL = /^\d{1,16}(?:\.\d{1,9})?$/;

/**
 * Reads what a reply says about the rate limit (service.md, section 8; RFC 9110, 10.2.3).
 * @param head the reply's head
 * @param offsetMs service's clock minus ours, where known from earlier replies; used where this one has no Date
 * @returns what could be read without guessing
 */
export function parseRateLimitHeaders(head: ResponseHead, offsetMs = 0): RateLimitInfo {
  const date = ownDate(head.headers);
  const serverNow = date ?? head.receivedAt + offsetMs;
  const { limit, left } = counts(head.headers);
  const reset = readReset(single(head.headers['x-ratelimit-reset']), serverNow, head.receivedAt);
  const resetInMs = reset && Math.max(0, reset.clock === 'server' ? reset.at - serverNow : reset.at - head.receivedAt);
  const retryAfter = readRetryAfter(head.headers, serverNow, resetInMs);
  const { waitMs, from } = combine(head.status, retryAfter, left, resetInMs);
  const offset =
    date === undefined
      ? undefined
      : { lo: date - head.receivedAt, hi: date + 1000 - Math.min(head.sentAt, head.receivedAt) };
  return { limit, remaining: left, reset, resetInMs, waitMs, from, offset };
}

// More left than the limit is a contradiction: which of the two is wrong cannot be told.
function counts(headers: HttpHeaders): { limit: number | undefined; left: number | undefined } {
  const limit = count(headers['x-ratelimit-limit']);
  const remaining = count(headers['x-ratelimit-remaining']);
  const ceiling = limit === undefined || limit <= 0 ? undefined : limit;
  if (ceiling !== undefined && remaining !== undefined && remaining > ceiling) {
    return { limit: undefined, left: undefined };
  }
  return { limit: ceiling, left: remaining === undefined ? undefined : Math.max(0, remaining) };
}

// On a 429 a correct service never means less than both; 503 knows Retry-After only.
function combine(
  status: number,
  retryAfter: number | undefined,
  remaining: number | undefined,
  resetInMs: number | undefined,
): { waitMs: number | undefined; from: WaitSource } {
  if (status === 503 && retryAfter !== undefined) return { waitMs: retryAfter, from: 'retry-after' };
  if (status !== 429) return { waitMs: undefined, from: 'none' };
  const exhausted = (remaining ?? 0) === 0;
  const near = resetInMs !== undefined && resetInMs <= NEAR_MS;
  if (retryAfter !== undefined) {
    if (exhausted && near && resetInMs > retryAfter) return { waitMs: resetInMs, from: 'max(RA,reset)' };
    return { waitMs: retryAfter, from: 'retry-after' };
  }
  if (near) return { waitMs: resetInMs, from: 'reset' };
  if (resetInMs !== undefined && exhausted) return { waitMs: resetInMs, from: 'reset(long)' };
  return { waitMs: undefined, from: 'backoff' };
}

// A reply from a cache tells the time at which it was stored: its Date is no clock.
function ownDate(headers: HttpHeaders): number | undefined {
  const age = single(headers['age']);
  if (age !== undefined && age !== '0') return undefined;
  return httpDate(single(headers['date']) ?? '', undefined);
}

// A header sent twice with two values contradicts itself: then it says nothing.
function single(value: string | readonly string[] | undefined): string | undefined {
  const parts = (typeof value === 'string' ? [value] : (value ?? [])).map((part) => part.trim());
  return parts.length > 0 && parts.every((part) => part === parts[0]) ? parts[0] : undefined;
}

function count(value: string | readonly string[] | undefined): number | undefined {
  const parts = new Set((single(value) ?? '').split(/\s*,\s*/));
  const [text] = parts;
  return parts.size === 1 && text !== undefined && /^-?\d{1,15}$/.test(text) ? Number(text) : undefined;
}

function readReset(text: string | undefined, serverNow: number, receivedAt: number): ResetTime | undefined {
  if (text === undefined) return undefined;
  const reset = DECIMAL.test(text) ? numericReset(text, receivedAt) : datedReset(text, serverNow);
  if (!reset) return undefined;
  const distance = reset.at - (reset.clock === 'server' ? serverNow : receivedAt);
  return distance < -PAST_SLACK_MS || distance > FARTHEST_MS ? undefined : reset;
}

function numericReset(text: string, receivedAt: number): ResetTime | undefined {
  const value = Number(text);
  // Digits after the point say how fine the value is: 0.1 s for one of them.
  const fine = 10 ** (3 - Math.min(3, text.split('.')[1]?.length ?? 0));
  if (value >= 1e14) return { at: Math.ceil(value / 1000), clock: 'server', resolution: 1 };
  if (value >= 1e11) return { at: Math.ceil(value), clock: 'server', resolution: 1 };
  if (value >= 1e9) return { at: Math.ceil(value * 1000), clock: 'server', resolution: fine };
  if (value <= 172_800) return { at: Math.ceil(receivedAt + value * 1000), clock: 'local', resolution: fine };
  return undefined;
}

function datedReset(text: string, serverNow: number): ResetTime | undefined {
  const at = httpDate(text, serverNow) ?? isoDate(text);
  return at === undefined ? undefined : { at, clock: 'server', resolution: at % 1000 === 0 ? 1000 : 1 };
}

function readRetryAfter(headers: HttpHeaders, serverNow: number, resetInMs: number | undefined): number | undefined {
  const values = headers['retry-after'];
  const waits = (typeof values === 'string' ? [values] : (values ?? [])).flatMap((text) =>
    delays(text, serverNow, resetInMs),
  );
  const ms = single(headers['retry-after-ms']);
  if (ms !== undefined && DECIMAL.test(ms)) waits.push(Math.ceil(Number(ms)));
  return waits.length > 0 ? Math.max(...waits) : undefined;
}

// Dates hold a comma themselves: the whole text is tried first, then a list split at commas that no date can hold.
function delays(text: string, serverNow: number, resetInMs: number | undefined): number[] {
  const whole = delay(text.trim(), serverNow, resetInMs);
  if (whole !== undefined) return [whole];
  return text
    .split(/,(?!\s*\d{2}[ -][A-Za-z]{3})/)
    .map((part) => delay(part.trim(), serverNow, resetInMs))
    .filter((wait) => wait !== undefined);
}

function delay(text: string, serverNow: number, resetInMs: number | undefined): number | undefined {
  if (DECIMAL.test(text)) return numericDelay(Number(text), serverNow, resetInMs);
  const at = httpDate(text, serverNow) ?? isoDate(text);
  if (at !== undefined) return Math.max(0, at - serverNow);
  return duration(text);
}

function numericDelay(value: number, serverNow: number, resetInMs: number | undefined): number | undefined {
  if (value >= 1e9) {
    const wait = (value >= 1e11 ? value : value * 1000) - serverNow;
    return wait < -PAST_SLACK_MS || wait > FARTHEST_MS ? undefined : Math.max(0, wait);
  }
  // Read as milliseconds only where the reset says the same: never guess a wait shorter without a witness.
  const seconds = value * 1000;
  const isMs = resetInMs !== undefined && Math.abs(value - resetInMs) <= 2000 && Math.abs(seconds - resetInMs) > 60_000;
  return value >= 1000 && isMs ? Math.ceil(value) : Math.ceil(seconds);
}
