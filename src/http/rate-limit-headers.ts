// Parses rate-limit and Retry-After headers strictly: pure, no clock. Absent, malformed and contradictory values are undefined.
import type { Observation, WindowReset } from '../rate-limit/ledger-record.ts';
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
 * Parses the head of a response (docs/service.md; RFC 9110, 10.2.3).
 * @param refused whether the response is a refusal (docs/rate-limits.md)
 * @param offsetMs the service's clock minus ours, from earlier responses; used if this one has no `Date`
 */
export function parseRateLimitHeaders(head: Head, refused: boolean, offsetMs = 0): Observation {
  const { status, receivedAt, sentAt } = head;
  const headers = withDraft(head.headers);
  const date = ownDate(headers);
  const serviceNow = date ?? receivedAt + offsetMs;
  const { limit, remaining } = counts(headers);
  const msUntil = ({ at, clock }: WindowReset): number => at - (clock === 'service' ? serviceNow : receivedAt);
  const stated = readTime(headers['x-ratelimit-reset'], receivedAt, serviceNow);
  const reset = stated && isPlausibleReset(msUntil(stated), stated.clock) ? stated : undefined;
  const resetInMs = reset && Math.max(0, msUntil(reset));
  const end = readTime(headers['retry-after'], receivedAt, serviceNow);
  const retryAfter = end && retryDelay(msUntil(end), end.clock, resetInMs);
  const wait = waitOf(status, retryAfter, remaining, resetInMs);
  // `Date` has a resolution of one second.
  const hi = (date ?? 0) + 1000 - Math.min(sentAt, receivedAt);
  const offset = date === undefined ? undefined : { lo: Math.floor(date - receivedAt), hi: Math.ceil(hi) };
  return { at: Math.round(receivedAt), status, refused, limit, remaining, reset, ...wait, offset };
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

// Reads large numbers as timestamps in seconds or milliseconds, unless they have passed, and small ones as seconds from now.
function readTime(text: string | undefined, receivedAt: number, serviceNow: number): WindowReset | undefined {
  if (text === undefined) return undefined;
  if (!DECIMAL.test(text)) {
    const at = httpDate(text);
    return at === undefined ? undefined : { at, clock: 'service', resolution: 1000 };
  }
  const value = Number(text);
  // The number of decimals shows the resolution: 0.1 s for one digit.
  const resolution = 10 ** (3 - Math.min(3, text.split('.')[1]?.length ?? 0));
  if (value < OLDEST_TIMESTAMP) return { at: Math.ceil(receivedAt + value * 1000), clock: 'local', resolution };
  const isMs = value >= 1e11;
  const at = Math.ceil(isMs ? value : value * 1000);
  return at < serviceNow - PAST_SLACK_MS ? undefined : { at, clock: 'service', resolution: isMs ? 1 : resolution };
}

function isPlausibleReset(ms: number, clock: WindowReset['clock']): boolean {
  return ms >= -PAST_SLACK_MS && ms <= (clock === 'local' ? LONGEST_DELTA_MS : FARTHEST_MS);
}

function retryDelay(ms: number, clock: WindowReset['clock'], resetInMs: number | undefined): number {
  if (clock === 'service') return Math.min(FARTHEST_MS, Math.max(0, ms));
  // Milliseconds only if the reset confirms them: a guess must not shorten a wait.
  const value = ms / 1000;
  const isMs = resetInMs !== undefined && Math.abs(value - resetInMs) <= 2000 && Math.abs(ms - resetInMs) > 60_000;
  return Math.ceil(value >= 1000 && isMs ? value : ms);
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
