// Rate limit windows as a fold, pure: what each request comes to is a function of the records before it.
import type { Limit } from './plans.ts';
import type { TappedFormat } from './tapped-log.ts';

/** Where a caller stands: what the three headers say (service.md, section 8). */
export interface QuotaStatus {
  readonly limit: number;
  readonly remaining: number;
  /** When the limit resets, epoch milliseconds. */
  readonly resetAt: number;
}

/** Whether a request may pass. */
export interface LimitDecision {
  readonly standing: QuotaStatus;
  /** Why not; undefined where it may. */
  readonly refusal?: {
    readonly code: 'rate_limited' | 'key_banned';
    /** When requests pass again, epoch milliseconds. */
    readonly until: number;
  };
}

/** A key is banned at the fifth request inside one wait, for a minute (contract, section 8). */
const BAN_AFTER = 5;
const BAN_MS = 60_000;

/** What is known of one key. */
export interface KeyUsage {
  /** By length of the window in milliseconds: which window it is, counted from the epoch, and how much of it is used. */
  windows: Record<string, { slot: number; used: number }>;
  waitUntil: number;
  /** Requests inside the wait under way, the one that began it left out. */
  inWait: number;
  bannedUntil: number;
}

/** What is known of all keys. */
export interface KeyUsages {
  byKey: Map<string, KeyUsage>;
  /** When the last request came, epoch milliseconds. */
  latest: number;
}

/**
 * How records become windows: `r KEY TIME COUNT/MS,…` asks for one request under these limits, `s KEY JSON` is a
 * snapshot of one key, `reset` forgets all.
 */
export const windowsFormat: TappedFormat<KeyUsages, LimitDecision> = {
  initial: () => ({ byKey: new Map(), latest: 0 }),
  apply(callers, record) {
    const [kind, key = '', third = '', limits = ''] = record.split(' ');
    if (kind === 'reset') callers.byKey.clear();
    if (kind === 's') callers.byKey.set(key, JSON.parse(third) as KeyUsage);
    if (kind !== 'r') return undefined;
    const now = Number(third);
    callers.latest = now;
    const caller = callers.byKey.get(key) ?? newKeyUsage();
    callers.byKey.set(key, caller);
    return judge(caller, now, readLimits(limits));
  },
  *snapshot(callers) {
    for (const [key, caller] of callers.byKey) {
      if (!isOver(caller, callers.latest)) yield `s ${key} ${JSON.stringify(caller)}`;
    }
  },
};

/** @returns what is known of a key that was never used */
export const newKeyUsage = (): KeyUsage => ({ windows: {}, waitUntil: 0, inWait: 0, bannedUntil: 0 });

function readLimits(text: string): Limit[] {
  return text.split(',').map((part) => {
    const [count, ms] = part.split('/');
    return { count: Number(count), ms: Number(ms) };
  });
}

function isOver(caller: KeyUsage, now: number): boolean {
  const open = Object.entries(caller.windows).some(([ms, { slot }]) => (slot + 1) * Number(ms) > now);
  return !open && caller.waitUntil <= now && caller.bannedUntil <= now;
}

// Windows are aligned to the epoch: a minute is the clock's minute, a day is the day in UTC.
function usedOf(caller: KeyUsage, now: number, limit: Limit): { slot: number; used: number } {
  const slot = Math.floor(now / limit.ms);
  const window = caller.windows[limit.ms];
  // Records of two processes may be a little out of order: one slot back is still the newer window. More is a clock set back.
  if (window && (window.slot === slot || window.slot === slot + 1)) return window;
  return { slot, used: 0 };
}

function judge(caller: KeyUsage, now: number, limits: readonly Limit[]): LimitDecision {
  if (isBanned(caller, now)) return refused(caller, now, limits);
  const spent = limits
    .map((limit) => ({ limit, ...usedOf(caller, now, limit) }))
    .filter(({ limit, used }) => used >= limit.count);
  if (spent.length > 0) {
    const until = Math.max(...spent.map(({ limit, slot }) => (slot + 1) * limit.ms));
    const waiting = caller.waitUntil > now && caller.waitUntil <= until;
    caller.inWait = waiting ? caller.inWait + 1 : 0;
    caller.waitUntil = until;
    if (caller.inWait >= BAN_AFTER) {
      caller.bannedUntil = now + BAN_MS;
      caller.inWait = 0;
      caller.waitUntil = 0;
    }
    return refused(caller, now, limits);
  }
  for (const limit of limits) {
    const { slot, used } = usedOf(caller, now, limit);
    caller.windows[limit.ms] = { slot, used: used + 1 };
  }
  return { standing: quotaStatus(caller, now, limits) };
}

// A ban that lies further ahead than a ban is long was written before the clock was set back.
function isBanned(caller: KeyUsage, now: number): boolean {
  return caller.bannedUntil > now && caller.bannedUntil <= now + BAN_MS;
}

function refused(caller: KeyUsage, now: number, limits: readonly Limit[]): LimitDecision {
  const standing = quotaStatus(caller, now, limits);
  return {
    standing,
    refusal: { code: isBanned(caller, now) ? 'key_banned' : 'rate_limited', until: standing.resetAt },
  };
}

/**
 * Says where a caller stands: in the window nearest its end (contract, section 8), which is the one with the fewest
 * requests left; where two have as few, the one that resets later.
 * @param caller what is known of the key
 * @param now epoch milliseconds
 * @param limits all of them hold at once
 * @returns what the headers are to say
 */
export function quotaStatus(caller: KeyUsage, now: number, limits: readonly Limit[]): QuotaStatus {
  let nearest: QuotaStatus | undefined;
  for (const limit of limits) {
    const { slot, used } = usedOf(caller, now, limit);
    const each = { limit: limit.count, remaining: Math.max(0, limit.count - used), resetAt: (slot + 1) * limit.ms };
    const fewer = nearest === undefined || each.remaining < nearest.remaining;
    if (fewer || (each.remaining === nearest?.remaining && each.resetAt > nearest.resetAt)) nearest = each;
  }
  const standing = nearest ?? unlimited(now);
  if (!isBanned(caller, now)) return standing;
  // Nothing passes before the ban ends, nor before a window that is used up resets.
  const resetAt = standing.remaining > 0 ? caller.bannedUntil : Math.max(caller.bannedUntil, standing.resetAt);
  return { limit: standing.limit, remaining: 0, resetAt };
}

/**
 * Every response carries the headers, also where no limit applies: a number that nobody reaches in a minute.
 * @param now epoch milliseconds
 * @returns the standing of everybody
 */
export const unlimited = (now: number): QuotaStatus => ({
  limit: 2 ** 31 - 1,
  remaining: 2 ** 31 - 1,
  resetAt: now + 60_000,
});
