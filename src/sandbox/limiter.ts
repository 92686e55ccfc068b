// Rate limits per key, as a reducer over a log that all processes with the same data share.
import type { LogFs } from '../append-log/generations.ts';
import type { LogFormat } from '../append-log/log.ts';
import { DamagedRecordError } from '../append-log/log.ts';
import { DataLog } from './data-log.ts';
import type { Limit } from './plans.ts';
import type { DataPaths } from './store.ts';

/** What the rate limit headers report. */
export interface QuotaStatus {
  readonly limit: number;
  readonly remaining: number;
  /** Epoch milliseconds. */
  readonly resetAt: number;
}

export interface LimitDecision {
  readonly status: QuotaStatus;
  /** Undefined if the request is admitted. */
  readonly refusal?: {
    readonly code: 'rate_limited' | 'key_banned';
    /** Epoch milliseconds. */
    readonly until: number;
  };
}

/** The fifth request within one wait bans the key for a minute (docs/cli.md). */
const BAN_AFTER = 5;
const BAN_MS = 60_000;

interface Usage {
  /** Windows since the epoch. */
  readonly window: number;
  readonly used: number;
}

/** What is known of one key; times are epoch milliseconds. */
interface KeyUsage {
  /** By the window's length in milliseconds. */
  windows: Record<string, Usage>;
  waitUntil: number;
  /** Requests during the current wait, except the one that started it. */
  inWait: number;
  bannedUntil: number;
}

interface KeyUsages {
  byKey: Map<string, KeyUsage>;
  /** Time of the last request. */
  latest: number;
}

const REQUEST = /^r (\w+) (\d{1,15}) (\d{1,9}\/\d{1,15}(?:,\d{1,9}\/\d{1,15})*)$/;

/** Records: `r KEY TIME COUNT/MS,…` requests admission, `s KEY JSON` restores one key's usage, `reset` deletes all. */
const windowsFormat: LogFormat<KeyUsages, LimitDecision | undefined> = {
  initial: () => ({ byKey: new Map(), latest: 0 }),
  apply(usages, record) {
    const request = REQUEST.exec(record);
    if (request) return decideRequest(usages, ...(request.slice(1) as [string, string, string]));
    const [, key = '', json = ''] = /^s (\w+) (.*)$/.exec(record) ?? [];
    const usage = parseUsage(json);
    if (usage) usages.byKey.set(key, usage);
    else if (record === 'reset') usages.byKey.clear();
    else throw new DamagedRecordError(record);
    return undefined;
  },
  *snapshot(usages) {
    for (const [key, usage] of usages.byKey) {
      if (isActive(usage, usages.latest)) yield `s ${key} ${JSON.stringify(usage)}`;
    }
  },
};

function decideRequest(usages: KeyUsages, key: string, time: string, limits: string): LimitDecision {
  const usage = usages.byKey.get(key) ?? newKeyUsage();
  usages.byKey.set(key, usage);
  usages.latest = Number(time);
  return decide(usage, usages.latest, parseLimits(limits));
}

function parseUsage(json: string): KeyUsage | undefined {
  try {
    const usage = JSON.parse(json) as KeyUsage;
    const windows = Object.values(usage.windows).flatMap(({ window, used }) => [window, used]);
    const numbers = [usage.waitUntil, usage.inWait, usage.bannedUntil, ...windows];
    return numbers.every(Number.isSafeInteger) ? usage : undefined;
  } catch {
    return undefined;
  }
}

const newKeyUsage = (): KeyUsage => ({ windows: {}, waitUntil: 0, inWait: 0, bannedUntil: 0 });

function parseLimits(text: string): Limit[] {
  return text.split(',').map((part) => {
    const [count, windowMs] = part.split('/');
    return { count: Number(count), windowMs: Number(windowMs) };
  });
}

function isActive(usage: KeyUsage, now: number): boolean {
  const open = Object.entries(usage.windows).some(([ms, { window }]) => (window + 1) * Number(ms) > now);
  return open || usage.waitUntil > now || usage.bannedUntil > now;
}

// Windows are aligned to the epoch: a day is a day in UTC.
function usageOf(usage: KeyUsage, now: number, { windowMs }: Limit): Usage {
  const window = Math.floor(now / windowMs);
  const known = usage.windows[windowMs];
  // Two processes' records may be slightly out of order, by one window at most; more is a clock that was set back.
  return known && (known.window === window || known.window === window + 1) ? known : { window, used: 0 };
}

function decide(usage: KeyUsage, now: number, limits: readonly Limit[]): LimitDecision {
  if (isBanned(usage, now)) return refuse(usage, now, limits);
  const current = limits.map((limit) => ({ limit, ...usageOf(usage, now, limit) }));
  const exhausted = current.filter(({ limit, used }) => used >= limit.count);
  if (exhausted.length > 0) {
    const until = Math.max(...exhausted.map(({ limit, window }) => (window + 1) * limit.windowMs));
    const waiting = usage.waitUntil > now && usage.waitUntil <= until;
    usage.inWait = waiting ? usage.inWait + 1 : 0;
    usage.waitUntil = until;
    if (usage.inWait >= BAN_AFTER) Object.assign(usage, { bannedUntil: now + BAN_MS, inWait: 0, waitUntil: 0 });
    return refuse(usage, now, limits);
  }
  for (const { limit, window, used } of current) usage.windows[limit.windowMs] = { window, used: used + 1 };
  return { status: quotaStatus(usage, now, limits) };
}

// A ban that ends too far ahead was recorded before the clock was set back.
function isBanned({ bannedUntil }: KeyUsage, now: number): boolean {
  return bannedUntil > now && bannedUntil <= now + BAN_MS;
}

function refuse(usage: KeyUsage, now: number, limits: readonly Limit[]): LimitDecision {
  const status = quotaStatus(usage, now, limits);
  return { status, refusal: { code: isBanned(usage, now) ? 'key_banned' : 'rate_limited', until: status.resetAt } };
}

/** Describes the window with the least remaining; of two, the one that resets later. */
function quotaStatus(usage: KeyUsage, now: number, limits: readonly Limit[]): QuotaStatus {
  const [status = unlimited(now)] = limits
    .map((limit): QuotaStatus => {
      const { window, used } = usageOf(usage, now, limit);
      const remaining = Math.max(0, limit.count - used);
      return { limit: limit.count, remaining, resetAt: (window + 1) * limit.windowMs };
    })
    .sort((a, b) => a.remaining - b.remaining || b.resetAt - a.resetAt);
  if (!isBanned(usage, now)) return status;
  const resetAt = status.remaining > 0 ? usage.bannedUntil : Math.max(usage.bannedUntil, status.resetAt);
  return { limit: status.limit, remaining: 0, resetAt };
}

/** Every response has the headers, also where no limit applies. */
const unlimited = (now: number): QuotaStatus => ({
  limit: 2 ** 31 - 1,
  remaining: 2 ** 31 - 1,
  resetAt: now + 60_000,
});

const ROTATE_AT_BYTES = 64 * 1024;

export class Limiter {
  readonly #log: DataLog<KeyUsages, LimitDecision | undefined>;
  readonly #limits: readonly Limit[];
  readonly #limitsText: string;

  constructor(
    { dir, windowsName: name }: DataPaths,
    limits: readonly Limit[],
    { reset = false, fs }: { readonly reset?: boolean; readonly fs?: LogFs | undefined } = {},
  ) {
    this.#log = new DataLog(windowsFormat, { dir, name, rotateAtBytes: ROTATE_AT_BYTES, fs });
    this.#limits = limits;
    this.#limitsText = limits.map(({ count, windowMs }) => `${count}/${windowMs}`).join(',');
    if (reset) this.#log.append('reset');
  }

  /**
   * Counts one request.
   * @param now epoch milliseconds
   * @throws errors of the file system; the request is then not counted
   */
  admit(key: string, now: number): LimitDecision {
    if (this.#limits.length === 0) return { status: unlimited(now) };
    const decision = this.#log.append(`r ${key} ${Math.floor(now)} ${this.#limitsText}`);
    if (!decision) throw new Error('a request record without a decision');
    return decision;
  }

  /** Counts nothing; without a valid key everything remains. */
  status(key: string | undefined, now: number): QuotaStatus {
    const usage = key === undefined || this.#limits.length === 0 ? undefined : this.#log.state().byKey.get(key);
    return quotaStatus(usage ?? newKeyUsage(), now, this.#limits);
  }

  close(): void {
    this.#log.close();
  }
}
