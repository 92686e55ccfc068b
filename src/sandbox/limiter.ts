// Rate limits per key, by plan. Pure, except that the decision about a request updates the usage of its key.
import { invalidValueError } from '../settings/check-options.ts';
import { parseDuration } from '../text/format.ts';

export interface RateLimit {
  readonly count: number;
  readonly windowMs: number;
}

/** The service's enterprise plan has custom limits (docs/service.md); here it is unlimited. */
export const PLANS: ReadonlyMap<string, readonly string[]> = new Map([
  ['free', ['60/1m', '1000/1d']],
  ['pro', ['300/1m', '10000/1d']],
  ['business', ['1000/1m', '100000/1d']],
  ['enterprise', []],
]);

/**
 * Parses a limit such as `60/6s` or `5/10` (seconds).
 * @param option for messages
 * @throws PetstoreError `usage` if the text is not a limit, or allows no requests
 */
export function parseLimit(text: string, option: string): RateLimit {
  const [, count = '', duration = ''] = /^(\d{1,9})\/(.+)$/.exec(text.trim()) ?? [];
  const windowMs = parseDuration(duration) ?? 0;
  if (Number(count) > 0 && windowMs > 0) return { count: Number(count), windowMs };
  throw invalidValueError(text, option, 'use REQUESTS/DURATION, for example 60/1m, 1000/1d or 60/6s');
}

export interface QuotaStatus {
  readonly limit: number;
  readonly remaining: number;
  /** Epoch milliseconds; a rejected request may be sent again then. */
  readonly resetAt: number;
  readonly rejection?: 'rate_limited' | 'key_banned' | undefined;
}

/** The fifth request within one wait bans the key for a minute (docs/service.md). */
const BAN_AFTER = 5;
const BAN_MS = 60_000;

/** The usage of one key; times are epoch milliseconds. */
export interface KeyUsage {
  /** For each window length in milliseconds: the window's number since the epoch, and the requests admitted in it. */
  windows: Record<string, { readonly window: number; readonly used: number }>;
  waitUntil: number;
  /** Requests during the current wait, except the one that started it. */
  inWait: number;
  bannedUntil: number;
}

export const newKeyUsage = (): KeyUsage => ({ windows: {}, waitUntil: 0, inWait: 0, bannedUntil: 0 });

// Windows are aligned to the epoch: a day is a day in UTC. Records of two processes may be out of order by one window.
function usageOf(usage: KeyUsage, now: number, { windowMs }: RateLimit): { window: number; used: number } {
  const window = Math.floor(now / windowMs);
  const known = usage.windows[windowMs];
  return known && known.window >= window ? known : { window, used: 0 };
}

/** Admits or rejects a request at `now` (epoch milliseconds), and counts it. */
export function admitRequest(usage: KeyUsage, now: number, limits: readonly RateLimit[]): QuotaStatus {
  const rejection = countRequest(usage, now, limits);
  return { ...quotaStatus(usage, now, limits), rejection };
}

function countRequest(usage: KeyUsage, now: number, limits: readonly RateLimit[]): QuotaStatus['rejection'] {
  if (usage.bannedUntil > now) return 'key_banned';
  const current = limits.map((limit) => ({ limit, ...usageOf(usage, now, limit) }));
  const exhausted = current.filter(({ limit, used }) => used >= limit.count);
  if (exhausted.length === 0) {
    for (const { limit, window, used } of current) usage.windows[limit.windowMs] = { window, used: used + 1 };
    return undefined;
  }
  usage.inWait = usage.waitUntil > now ? usage.inWait + 1 : 0;
  usage.waitUntil = Math.max(...exhausted.map(({ limit, window }) => (window + 1) * limit.windowMs));
  if (usage.inWait < BAN_AFTER) return 'rate_limited';
  Object.assign(usage, { bannedUntil: now + BAN_MS, inWait: 0, waitUntil: 0 });
  return 'key_banned';
}

/** Describes the window with the fewest requests left or, in a tie, the one that resets later. During a ban, none are left. */
export function quotaStatus(usage: KeyUsage, now: number, limits: readonly RateLimit[]): QuotaStatus {
  const [status = unlimited(now)] = limits
    .map((limit): QuotaStatus => {
      const { window, used } = usageOf(usage, now, limit);
      return { limit: limit.count, remaining: Math.max(0, limit.count - used), resetAt: (window + 1) * limit.windowMs };
    })
    .sort((a, b) => a.remaining - b.remaining || b.resetAt - a.resetAt);
  if (usage.bannedUntil <= now) return status;
  const resetAt = status.remaining > 0 ? usage.bannedUntil : Math.max(usage.bannedUntil, status.resetAt);
  return { limit: status.limit, remaining: 0, resetAt };
}

/** Every response has the headers, even if no limit applies. */
const unlimited = (now: number): QuotaStatus => ({ limit: 2 ** 31 - 1, remaining: 2 ** 31 - 1, resetAt: now + 60_000 });
