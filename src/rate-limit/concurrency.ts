// The number of requests in flight while no window decides: additive increase, multiplicative decrease. Pure.
import { RULES } from './rules.ts';

export interface Concurrency {
  /** The most requests in flight at once; its whole part counts. */
  readonly limit: number;
  /** Whether a request was ever refused although no window explains it. */
  readonly wasRefused: boolean;
}

export function initialConcurrency(): Concurrency {
  return { limit: 1, wasRefused: false };
}

/** After a success: each round of successes adds `growth`. */
export function increased({ limit, wasRefused }: Concurrency): Concurrency {
  return { limit: limit + (wasRefused ? RULES.growthOnceRefused : RULES.growth) / limit, wasRefused };
}

/** @param inFlight requests in flight, the refused one included */
export function halved({ limit }: Concurrency, inFlight: number): Concurrency {
  return { limit: Math.max(1, Math.min(limit, inFlight) / 2), wasRefused: true };
}
