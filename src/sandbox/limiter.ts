// Rate limits: windows per key as a fold over a log, so that all processes on the same data count together.
import { createHash } from 'node:crypto';
import type { Place } from './place.ts';
import type { Limit } from './plans.ts';
import type { TappedFormat } from './tapped-log.ts';
import { TappedLog } from './tapped-log.ts';

/** Where a caller stands: what the three headers say (service.md, section 8). */
export interface Standing {
  readonly limit: number;
  readonly remaining: number;
  /** When the limit resets, epoch milliseconds. */
  readonly resetAt: number;
}

/** Whether a request may pass. */
export interface Verdict {
  readonly standing: Standing;
  /** Why not; undefined where it may. */
  readonly refusal?: {
    readonly code: 'rate_limited' | 'key_banned' /** Epoch milliseconds. */;
    readonly until: number;
  };
}

/** A key is banned at the fifth request inside one wait, for a minute (contract, section 8). */
const BAN_AFTER = 5;
const BAN_MS = 60_000;

interface Caller {
  /** By length of the window in milliseconds: which window it is, counted from the epoch, and how much of it is used. */
  windows: Record<string, { slot: number; used: number }>;
  waitUntil: number;
  /** Requests inside the wait under way, the one that began it left out. */
  inWait: number;
  bannedUntil: number;
}

interface Callers {
  byKey: Map<string, Caller>;
  /** The latest time any record told, epoch milliseconds. */
  latest: number;
}

// Records: `r KEY TIME COUNT/MS,…` asks for one request under these limits; `s KEY JSON` is a snapshot; `reset` forgets all.
const format: TappedFormat<Callers, Verdict> = {
  initial: () => ({ byKey: new Map(), latest: 0 }),
  apply(callers, record) {
    const [kind, key = '', third = '', limits = ''] = record.split(' ');
    if (kind === 'reset') callers.byKey.clear();
    if (kind === 's') callers.byKey.set(key, JSON.parse(third) as Caller);
    if (kind !== 'r') return undefined;
    const now = Number(third);
    callers.latest = Math.max(callers.latest, now);
    const caller = callers.byKey.get(key) ?? newCaller();
    callers.byKey.set(key, caller);
    return judge(caller, now, readLimits(limits));
  },
  *snapshot(callers) {
    for (const [key, caller] of callers.byKey) {
      if (!isOver(caller, callers.latest)) yield `s ${key} ${JSON.stringify(caller)}`;
    }
  },
};

const newCaller = (): Caller => ({ windows: {}, waitUntil: 0, inWait: 0, bannedUntil: 0 });

function readLimits(text: string): Limit[] {
  return text.split(',').map((part) => {
    const [count, ms] = part.split('/');
    return { count: Number(count), ms: Number(ms) };
  });
}

function isOver(caller: Caller, now: number): boolean {
  const open = Object.entries(caller.windows).some(([ms, { slot }]) => (slot + 1) * Number(ms) > now);
  return !open && caller.waitUntil <= now && caller.bannedUntil <= now;
}

// Windows are aligned to the epoch: a minute is the clock's minute, a day is the day in UTC.
function usedOf(caller: Caller, now: number, limit: Limit): { slot: number; used: number } {
  const slot = Math.floor(now / limit.ms);
  const window = caller.windows[limit.ms];
  // Records of two processes may be a little out of order: one slot back is still the newer window. More is a clock set back.
  if (window && (window.slot === slot || window.slot === slot + 1)) return window;
  return { slot, used: 0 };
}

function judge(caller: Caller, now: number, limits: readonly Limit[]): Verdict {
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
  return { standing: standingOf(caller, now, limits) };
}

// A ban that lies further ahead than a ban is long was written before the clock was set back.
function isBanned(caller: Caller, now: number): boolean {
  return caller.bannedUntil > now && caller.bannedUntil <= now + BAN_MS;
}

function refused(caller: Caller, now: number, limits: readonly Limit[]): Verdict {
  const standing = standingOf(caller, now, limits);
  return {
    standing,
    refusal: { code: isBanned(caller, now) ? 'key_banned' : 'rate_limited', until: standing.resetAt },
  };
}

// The window nearest its end is the one with the fewest requests left; where that is none in both, the later reset counts.
function standingOf(caller: Caller, now: number, limits: readonly Limit[]): Standing {
  let nearest: Standing | undefined;
  for (const limit of limits) {
    const { slot, used } = usedOf(caller, now, limit);
    const each = { limit: limit.count, remaining: Math.max(0, limit.count - used), resetAt: (slot + 1) * limit.ms };
    const fewer = nearest === undefined || each.remaining < nearest.remaining;
    if (fewer || (each.remaining === nearest?.remaining && each.resetAt > nearest.resetAt)) nearest = each;
  }
  const standing = nearest ?? UNLIMITED(now);
  if (!isBanned(caller, now)) return standing;
  // Nothing passes before the ban ends, nor before a window that is used up resets.
  const resetAt = standing.remaining > 0 ? caller.bannedUntil : Math.max(caller.bannedUntil, standing.resetAt);
  return { limit: standing.limit, remaining: 0, resetAt };
}

// Every response carries the headers, also where no limit applies: a number that nobody reaches in a minute.
const UNLIMITED = (now: number): Standing => ({ limit: 2 ** 31 - 1, remaining: 2 ** 31 - 1, resetAt: now + 60_000 });

const SEAL_AT = 64 * 1024;

/** The windows of one sandbox, shared with every process on the same data. */
export class Limiter {
  readonly #log: TappedLog<Callers, Verdict>;
  readonly #limits: readonly Limit[];
  readonly #limitText: string;

  /**
   * @param place where the windows are kept
   * @param limits all of them hold at once; none: nothing is limited, and nothing is kept
   * @param options `reset`: forgets every window and ban
   * @throws errors of the file system as they come
   */
  constructor(place: Place, limits: readonly Limit[], options: { readonly reset?: boolean } = {}) {
    this.#log = new TappedLog(format, { dir: place.dir, name: place.windowsName, sealAt: SEAL_AT, durable: false });
    this.#limits = limits;
    this.#limitText = limits.map(({ count, ms }) => `${count}/${ms}`).join(',');
    if (options.reset) this.#log.append('reset');
  }

  /**
   * Asks for one request; it is counted where it passes, and remembered against the key where it does not.
   * @param key the caller's fingerprint, see `fingerprint`
   * @param now epoch milliseconds
   * @returns whether it passes, and where the caller stands after it
   * @throws errors of the file system: nothing was counted
   */
  admit(key: string, now: number): Verdict {
    if (this.#limits.length === 0) return { standing: UNLIMITED(now) };
    const verdict = this.#log.append(`r ${key} ${Math.floor(now)} ${this.#limitText}`);
    if (!verdict) throw new Error('a request met no verdict');
    return verdict;
  }

  /**
   * @param key the caller's fingerprint; undefined for a caller without a valid key, who has no window: all is left
   * @param now epoch milliseconds
   * @returns where the caller stands; nothing is counted
   */
  standing(key: string | undefined, now: number): Standing {
    const caller = key === undefined || this.#limits.length === 0 ? undefined : this.#log.state().byKey.get(key);
    return standingOf(caller ?? newCaller(), now, this.#limits);
  }

  close(): void {
    this.#log.close();
  }
}

/**
 * @param key an API key
 * @returns what stands for it in the windows' log: the key itself is in no file
 */
export function fingerprint(key: string): string {
  return createHash('sha256').update(key).digest('hex').slice(0, 16);
}
