// The window that headers report: what is left until its reset. Pure.
import type { RateLimitReading } from './ledger-record.ts';
import { RULES } from './rules.ts';

export interface Window {
  readonly limit?: number | undefined;
  readonly remaining: number;
  readonly resetAt: number;
  /** The earliest time that its reset may have: the response that stated it took as long as the difference. */
  readonly resetFrom: number;
  readonly seenAt: number;
  /** The number of the record that last described it. */
  readonly seenSeq: number;
}

/** The time from which a request counts in the next window. */
export function windowEnd({ resetAt }: Window): number {
  return resetAt + RULES.guardMs;
}

// Ignores a window without a reset, even if nothing is left of it: the wait would be a guess.
export function windowFrom(seen: RateLimitReading, at: number, seq: number): Window | undefined {
  const { limit, remaining, resetInMs, tookMs } = seen;
  if (remaining === undefined || resetInMs === undefined || resetInMs > RULES.farthestResetMs) return undefined;
  const resetAt = at + resetInMs;
  return { limit, remaining, resetAt, resetFrom: resetAt - tookMs, seenAt: at, seenSeq: seq };
}

/**
 * The window after a response. The response to a request that was sent after the known window was reported replaces it.
 * Any other response was on its way at the same time, so within a window it can only show that less is left.
 * @param sentSeq the number of the request's ticket; undefined if the ticket had expired
 */
export function nextWindow(known: Window | undefined, reading: Window, sentSeq: number | undefined): Window {
  if (!known || (sentSeq !== undefined && sentSeq > known.seenSeq)) return reading;
  if (reading.resetFrom > known.resetAt + RULES.sameWindowMs) return reading;
  if (reading.resetAt + RULES.sameWindowMs < known.resetFrom) return known;
  const later = reading.resetAt > known.resetAt ? reading : known;
  return { ...later, remaining: Math.min(known.remaining, reading.remaining), seenSeq: reading.seenSeq };
}
