// The window that headers report: what is left until its reset, and when that has certainly passed. Pure.
import type { Observation } from './ledger-record.ts';
import { RULES } from './rules.ts';

export interface Window {
  readonly limit?: number | undefined;
  readonly remaining: number;
  readonly resetAt: number;
  readonly clock: 'service' | 'local';
  /** Added to the reset, which may have been rounded down. */
  readonly guardMs: number;
  readonly seenAt: number;
  readonly seenSeq: number;
}

/** Bounds of the service's clock minus ours, milliseconds, and when they were first seen. */
export interface Offset {
  readonly lo: number;
  readonly hi: number;
  readonly since: number;
}

export function windowEnd({ resetAt, guardMs }: Window): number {
  return resetAt + guardMs;
}

/** Converts a response to another clock by its arrival, so that it does not matter if our clock was set before. */
export function movedTo(at: number, seen: Observation): Observation {
  const { reset, offset } = seen;
  const ms = at - seen.at;
  if (ms === 0) return seen;
  return {
    ...seen,
    at,
    reset: reset?.clock === 'local' ? { ...reset, at: reset.at + ms } : reset,
    offset: offset && { lo: offset.lo - ms, hi: offset.hi - ms },
  };
}

// Ignores a window without a reset, even if nothing is left of it: the wait would be a guess.
export function windowFrom(
  { at, limit, remaining, reset }: Observation,
  offset: Offset | undefined,
  seq: number,
): Window | undefined {
  if (remaining === undefined || remaining < 0 || !reset) return undefined;
  const { clock } = reset;
  const resetAt = clock === 'service' ? reset.at - (offset?.lo ?? 0) : reset.at;
  if (resetAt - at > RULES.farthestResetMs) return undefined;
  const guardMs = Math.max(RULES.leastGuardMs, reset.resolution);
  return { limit, remaining, resetAt, clock, guardMs, seenAt: at, seenSeq: seq };
}

/**
 * Returns the window after a response.
 * @param ticket the ticket of the request, if it was still open
 * @param roundsDown whether a probe after a reset was ever refused
 */
export function nextWindow(
  known: Window | undefined,
  reading: Window,
  ticket: { readonly seq: number; readonly probe: boolean } | undefined,
  roundsDown: boolean | undefined,
): Window {
  const later = known ? reading.resetAt - known.resetAt : Number.POSITIVE_INFINITY;
  // Only a request that was sent after the known response can show that the window was refilled or its limit changed.
  const isNewer = known !== undefined && ticket !== undefined && known.seenSeq < ticket.seq;
  const hasMore = known !== undefined && reading.remaining > known.remaining;
  const isRefilled = ticket?.probe
    ? hasMore || reading.remaining === known?.remaining || known?.remaining === 0
    : hasMore;
  const isOther = known?.limit !== undefined && reading.limit !== undefined && known.limit !== reading.limit;
  if (!known || later > RULES.sameWindowMs || (isNewer && (isRefilled || isOther))) {
    const { limit = 0, remaining, resetAt, seenAt } = reading;
    // If this window and the one before it are brief, a guard of a second would cost too much.
    const isSuccessor = known?.limit === reading.limit;
    const brief =
      isSuccessor && limit - remaining <= 1 && Math.max(resetAt - seenAt, later) <= RULES.briefMs && !roundsDown;
    return brief ? { ...reading, guardMs: RULES.leastGuardMs } : reading;
  }
  // A late response describes the previous window.
  if (later < -RULES.sameWindowMs) return known;
  const remaining = Math.min(known.remaining, reading.remaining);
  return { ...reading, guardMs: known.guardMs, remaining, resetAt: Math.max(known.resetAt, reading.resetAt) };
}

/**
 * Returns the length of the window, if two resets show it: the later window was seen soon after the earlier reset, so no
 * window lies between.
 */
export function lengthOf(before: number | undefined, known: Window | undefined, reading: Window): number | undefined {
  const { limit, resetAt, seenAt } = reading;
  if (!known || resetAt - known.resetAt <= RULES.sameWindowMs) return before;
  if (known.limit !== limit) return undefined;
  const length = resetAt - known.resetAt;
  const late = seenAt - known.resetAt;
  if (late > -RULES.sameWindowMs && late <= Math.max(RULES.soonAfterResetMs, length / 10)) return length;
  return resetAt - seenAt > (before ?? 0) + RULES.sameWindowMs ? undefined : before;
}

/** Intersects the bounds of a response with those known so far. */
export function nextOffset(
  known: Offset | undefined,
  seen: { readonly lo: number; readonly hi: number },
  at: number,
): Offset {
  if (!known || at - known.since > RULES.offsetLifeMs) return { ...seen, since: at };
  const both = { lo: Math.max(known.lo, seen.lo), hi: Math.min(known.hi, seen.hi), since: known.since };
  // Bounds that exclude each other mean that a clock was set: the newest response is right.
  return both.lo > both.hi ? { ...seen, since: at } : both;
}
