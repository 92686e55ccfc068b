// The pace of requests where no header announces a limit: as many at once as succeed, and after a refusal one by one at an
// estimated rate, as a token bucket would let them through. Pure.
import { RULES } from './rules.ts';

/** Times are epoch milliseconds. */
export interface Pace {
  /** Requests in flight at once; it grows with success, and a refusal halves it. */
  readonly concurrency: number;
  /** Milliseconds between two requests; undefined until a refusal was followed by a success. */
  readonly intervalMs?: number | undefined;
  /** Whether the rate still rises fast: no refusal has shown yet where it ends. */
  readonly ramping: boolean;
  /** Successes since the last refusal, or since the first request. */
  readonly passed: number;
  readonly since: number;
  /** When the wait of the last 429 ended, until a success. */
  readonly refusedAt?: number | undefined;
  readonly grantedAt: number;
  /** Requests that are not spaced out: so many fit into the wait that the last 429 stated. */
  readonly credit: number;
}

/** Before any time; JSON has no infinity. */
export const EARLIEST = -8.64e15;

export function initialPace(): Pace {
  return { concurrency: 1, ramping: true, passed: 0, since: EARLIEST, grantedAt: EARLIEST, credit: 0 };
}

/** Notes that a request was granted. An estimate that nobody used for long expires. */
export function paceGranted(pace: Pace, at: number): Pace {
  const { grantedAt, credit } = pace;
  if (at - grantedAt <= RULES.paceLifeMs) return { ...pace, grantedAt: at, credit: Math.max(0, credit - 1) };
  return { ...initialPace(), since: at, grantedAt: at };
}

/** Notes a success. The first one after a 429 gives the first estimate. */
export function pacePassed(pace: Pace, at: number): Pace {
  const { intervalMs, ramping, refusedAt, ...rest } = pace;
  const passed = pace.passed + 1;
  const concurrency = pace.concurrency + RULES.concurrencyGrowth / pace.concurrency;
  if (intervalMs !== undefined) {
    const factor = ramping ? RULES.rampFactor : RULES.probeFactor;
    return { ...rest, ramping, passed, concurrency, intervalMs: intervalMs / factor };
  }
  if (refusedAt === undefined) return { ...pace, passed, concurrency };
  return { ...rest, ramping, passed: 1, since: refusedAt, intervalMs: Math.max(1, at - pace.since) / passed };
}

/**
 * Slows down after a 429 that no header announced.
 * @param statedMs the wait that it states, milliseconds: what passed before has to last until its end
 */
export function paceRefused(pace: Pace, at: number, statedMs: number): Pace {
  const until = at + statedMs;
  const { intervalMs, passed } = pace;
  const refused = { ...pace, refusedAt: until, concurrency: Math.max(1, pace.concurrency / 2) };
  if (intervalMs === undefined || passed === 0) return refused;
  const ramping = pace.ramping && passed <= RULES.fewSuccesses;
  const slower = Math.max(intervalMs, slowedInterval(pace, intervalMs, ramping, until));
  const credit = Math.floor(statedMs / slower);
  return { ...refused, intervalMs: slower, ramping, passed: 0, since: until, credit };
}

function slowedInterval(pace: Pace, intervalMs: number, ramping: boolean, until: number): number {
  const { passed, since } = pace;
  const measured = Math.max(1, until - since) / passed;
  if (ramping) return measured;
  if (passed < RULES.enoughSuccesses) return intervalMs / RULES.earlyFactor;
  // At a steady rate the end is near; what was measured includes the wait before.
  return pace.ramping ? measured : Math.min(measured, intervalMs / RULES.steadyFactor);
}
