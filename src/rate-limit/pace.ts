// The pace of requests where no header announces a limit: as many at once as succeed, and after a refusal one by one at an
// estimated rate, as a token bucket would let them through. Pure.
import { RULES } from './rules.ts';

/** Times are epoch milliseconds. */
export interface Pace {
  /** Requests in flight at once; it grows by one for each round of successes, and a refusal halves it. */
  readonly concurrency: number;
  /** Milliseconds between two requests; undefined until a refusal was followed by a success. */
  readonly intervalMs?: number | undefined;
  /** Whether the rate still rises fast: no refusal has shown yet where it ends. */
  readonly ramping: boolean;
  /** Successes since the last refusal, or since the first request. */
  readonly passed: number;
  readonly since: number;
  /** When the last 429 came, until a success. */
  readonly refusedAt?: number | undefined;
  readonly grantedAt: number;
}

/** Before any time; JSON has no infinity. */
export const EARLIEST = -8.64e15;

export function initialPace(): Pace {
  return { concurrency: 1, ramping: true, passed: 0, since: EARLIEST, grantedAt: EARLIEST };
}

/** Notes that a request was granted. An estimate that nobody used for long expires. */
export function paceGranted(pace: Pace, at: number): Pace {
  if (at - pace.grantedAt <= RULES.paceLifeMs) return { ...pace, grantedAt: at };
  return { ...initialPace(), since: at, grantedAt: at };
}

/** Notes a success. The first one after a 429 gives the first estimate. */
export function pacePassed(pace: Pace, at: number): Pace {
  const { intervalMs, ramping, refusedAt, ...rest } = pace;
  const passed = pace.passed + 1;
  const concurrency = pace.concurrency + 1 / pace.concurrency;
  if (intervalMs !== undefined) {
    const factor = ramping ? RULES.rampFactor : RULES.probeFactor;
    return { ...rest, ramping, passed, concurrency, intervalMs: intervalMs / factor };
  }
  if (refusedAt === undefined) return { ...pace, passed, concurrency };
  return { ...rest, ramping, passed: 1, since: refusedAt, intervalMs: Math.max(1, at - pace.since) / passed };
}

/** Slows down after a 429 that no header announced. */
export function paceRefused(pace: Pace, at: number): Pace {
  const { intervalMs, passed, since } = pace;
  const refused = { ...pace, refusedAt: at, concurrency: Math.max(1, pace.concurrency / 2) };
  if (intervalMs === undefined || passed === 0) return refused;
  const measured = Math.max(1, at - since) / passed;
  const few = pace.ramping && passed <= RULES.fewSuccesses;
  const slower = few || passed >= RULES.enoughSuccesses ? measured : intervalMs / RULES.slowDownFactor;
  return { ...refused, intervalMs: Math.max(intervalMs, slower), ramping: few, passed: 0, since: at };
}
