// Models of real rate limiters, for simulations and HTTP servers.
import { seededRandom } from '../../src/sandbox/faults.ts';
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

export const limiter =
  (options: LimiterOptions): MakeService =>
  () =>
    new Limiter(options);

/** Windows that no header reports. */
export const windows = (limit: number, windowMs: number, more: Partial<LimiterOptions> = {}): MakeService =>
  limiter({ mode: 'anchored', limit, windowMs, describes: 'nothing', retryAfter: 'none', ...more });

/** nginx `limit_req` with `nodelay`, and GCRA limiters: `limit` per second. */
export const bucket = (limit: number, burst: number, retryAfter: LimiterOptions['retryAfter'] = 'none'): MakeService =>
  limiter({ mode: 'bucket', describes: 'nothing', retryAfter, limit, windowMs: 1000, burst: burst + 1 });

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

/** Windows of 5 s, whose limit changes after every `each` windows; only Retry-After reports them. */
export const changing = (limits: readonly number[], each: number): MakeService => {
  return (startsAt) => {
    const shared = { mode: 'fixed', windowMs: 5000, phase: startsAt, describes: 'nothing' } as const;
    const limiters = limits.map((limit) => new Limiter({ ...shared, limit }));
    const limiterAt = (now: number) => limiters[Math.floor((now - startsAt) / 5000 / each)] ?? limiters.at(-1);
    return { take: (now) => limiterAt(now)?.take(now) ?? ALLOWED };
  };
};

/** Rejects the requests that `isRefused` selects by their number, from 1. */
const refusing =
  (isRefused: (request: number, draw: () => number) => boolean, retryAfter?: number): MakeService =>
  (_startsAt, seed) => {
    const draw = seededRandom(seed * 7919);
    let count = 0;
    return { take: () => (isRefused(++count, draw) ? refusal(retryAfter) : ALLOWED) };
  };

/** Rejects a share of the requests at random. */
export const random = (share: number, retryAfter?: number): MakeService =>
  refusing((_request, draw) => draw() < share, retryAfter);

export const everyOther = (retryAfter: number): MakeService => refusing((request) => request % 2 === 0, retryAfter);

/** Rejects only request number `at`. */
export const once = (at: number): MakeService => refusing((request) => request === at);

/** Other clients have exhausted the quota for the first `ms`. */
export const usedByOthers =
  (ms: number): MakeService =>
  (startsAt) => ({
    take: (now) => (now - startsAt < ms ? refusal(Math.ceil((startsAt + ms - now) / 1000)) : ALLOWED),
  });

/** Serves `limit` concurrent requests, in 200 ms each. */
export const atOnce = (limit: number): MakeService => {
  return () => ({ take: (_now, inFlight) => (inFlight > limit ? refusal() : { ...ALLOWED, delayMs: 200 }) });
};

/** The minimum time for `requests`, found by sending one every 5 ms. */
export function leastTime(service: Service, startsAt: number, requests: number): number {
  for (let [now, served] = [startsAt, 0]; ; now += 5)
    while (service.take(now, 1).allowed) if (++served === requests) return now - startsAt;
}

/** The time of a sequential client that waits as stated after each refusal, by default a second. */
export function waitingTime(service: Service, startsAt: number, requests: number, latencyMs: number): number {
  let now = startsAt;
  for (let served = 0; served < requests; ) {
    now += latencyMs;
    const { allowed, headers } = service.take(now, 1);
    if (allowed) served++;
    else now += 1000 * Number(headers['retry-after'] ?? 1);
  }
  return now - startsAt;
}
