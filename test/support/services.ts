// Models of real rate limiters, for simulations and HTTP servers.
import { draws } from './draws.ts';
import type { LimiterOptions, Verdict } from './limiter.ts';
import { Limiter } from './limiter.ts';
import type { Service } from './simulation.ts';

/** Creates a service that starts at `startsAt`, with a seed for its randomness. */
export type MakeService = (startsAt: number, seed: number) => Service;

const ALLOWED: Verdict = { allowed: true, insideWait: undefined, headers: {} };
const refusal = (retryAfter?: number): Verdict => ({
  allowed: false,
  insideWait: undefined,
  headers: retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) },
});
const secondsUntil = (at: number, now: number): number => Math.ceil((at - now) / 1000);

const silent = { describes: 'nothing', retryAfter: 'none' } as const;

export const limiter =
  (options: LimiterOptions): MakeService =>
  () =>
    new Limiter(options);

/** Windows that no header reports. */
export const windows = (limit: number, windowMs: number, more: Partial<LimiterOptions> = {}): MakeService =>
  limiter({ mode: 'anchored', limit, windowMs, ...silent, ...more });

/** nginx `limit_req` with `nodelay`, and GCRA limiters. */
export const bucket = (
  perSecond: number,
  burst: number,
  retryAfter: LimiterOptions['retryAfter'] = 'none',
): MakeService =>
  limiter({
    mode: 'bucket',
    describes: 'nothing',
    retryAfter,
    limit: perSecond * 60,
    windowMs: 60_000,
    burst: burst + 1,
  });

/** `http_req_rate` of HAProxy: this period and the rest of the last one, including rejected requests. */
export const haproxy = (limit: number, periodMs: number): MakeService => {
  return () => {
    let [begin, current, last] = [0, 0, 0];
    return {
      take(now) {
        if (now - begin >= 2 * periodMs) [begin, current, last] = [now, 0, 0];
        else if (now - begin >= periodMs) [begin, current, last] = [begin + periodMs, 0, current];
        current++;
        return current + (last * (periodMs - (now - begin))) / periodMs > limit ? refusal() : ALLOWED;
      },
    };
  };
};

/** Windows of 5 s whose limit changes after every `each` windows; `states` selects the facts that the responses report. */
export const changing = (
  limits: readonly number[],
  each: number,
  states: 'nothing' | 'retry-after' | 'headers',
): MakeService => {
  return (startsAt) => {
    let [window, used] = [-1, 0];
    return {
      take(now) {
        const index = Math.floor((now - startsAt) / 5000);
        if (index !== window) [window, used] = [index, 0];
        const limit = limits[Math.min(limits.length - 1, Math.floor(index / each))] ?? 0;
        const allowed = used < limit;
        if (allowed) used++;
        const endsAt = startsAt + (index + 1) * 5000;
        const reported = {
          'x-ratelimit-limit': String(limit),
          'x-ratelimit-remaining': String(limit - used),
          'x-ratelimit-reset': String(Math.ceil(endsAt)),
        };
        const verdict = allowed ? ALLOWED : refusal(states === 'nothing' ? undefined : secondsUntil(endsAt, now));
        return states === 'headers' ? { ...verdict, headers: { ...verdict.headers, ...reported } } : verdict;
      },
    };
  };
};

/** Rejects a share of the requests at random for `forMs`. */
export const random = (share: number, forMs: number, retryAfter?: number): MakeService => {
  return (startsAt, seed) => {
    const draw = draws(seed * 7919);
    return { take: (now) => (now - startsAt < forMs && draw() < share ? refusal(retryAfter) : ALLOWED) };
  };
};

export const everyOther = (retryAfter?: number): MakeService => {
  return () => {
    let count = 0;
    return { take: () => (count++ % 2 === 1 ? refusal(retryAfter) : ALLOWED) };
  };
};

/** Other clients have exhausted the quota for the first `ms`. */
export const usedByOthers = (ms: number, then: MakeService = free, states = true): MakeService => {
  return (startsAt, seed) => {
    const after = then(startsAt, seed);
    return {
      take(now, inFlight) {
        if (now - startsAt >= ms) return after.take(now, inFlight);
        return refusal(states ? secondsUntil(startsAt + ms, now) : undefined);
      },
    };
  };
};

/** Rejects only request number `at`. */
export const once = (at: number, retryAfter?: number): MakeService => {
  return () => {
    let count = 0;
    return { take: () => (++count === at ? refusal(retryAfter) : ALLOWED) };
  };
};

/** Serves `limit` concurrent requests, in 200 ms each. */
export const atOnce = (limit: number, retryAfter?: number): MakeService => {
  return () => ({
    take: (_now, inFlight) => (inFlight > limit ? refusal(retryAfter) : { ...ALLOWED, delayMs: 200 }),
  });
};

export const free: MakeService = () => ({ take: () => ALLOWED });

/** The minimum time for `requests`, found by sending one every 5 ms. */
export function leastTime(make: MakeService, startsAt: number, seed: number, requests: number): number {
  const service = make(startsAt, seed);
  for (let [now, served] = [startsAt, 0]; ; now += 5)
    while (service.take(now, 1).allowed) if (++served === requests) return now - startsAt;
}

/** The time of a sequential client that waits as stated after each refusal, by default a second. */
export function waitingTime(
  make: MakeService,
  startsAt: number,
  seed: number,
  requests: number,
  latencyMs: number,
): number {
  const service = make(startsAt, seed);
  let now = startsAt;
  for (let served = 0; served < requests; ) {
    now += latencyMs;
    const { allowed, headers } = service.take(now, 1);
    if (allowed) served++;
    else now += 1000 * Number(headers['retry-after'] ?? 1);
  }
  return now - startsAt;
}
