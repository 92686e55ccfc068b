// The window that headers report: the requests left until its reset. Pure.
import type { RateLimitReading } from './ledger-record.ts';
import { RULES } from './rules.ts';

export interface Window {
  readonly limit?: number | undefined;
  readonly remaining: number;
  readonly resetAt: number;
  /** `resetAt` is too late by at most the time that the response was on its way. */
  readonly resetNotBefore: number;
  readonly reportedAt: number;
  /** The number of the record that last described it. */
  readonly seq: number;
}

/** The time from which a request counts in the next window. */
export function windowEnd({ resetAt }: Window): number {
  return resetAt + RULES.guardMs;
}

/** Ignores a window without a reset, even if nothing is left of it: the wait would be a guess. */
export function windowFrom(reading: RateLimitReading, at: number, seq: number): Window | undefined {
  const { limit, remaining, resetInMs, tookMs } = reading;
  if (remaining === undefined || resetInMs === undefined) return undefined;
  const resetAt = at + resetInMs;
  return { limit, remaining, resetAt, resetNotBefore: resetAt - tookMs, reportedAt: at, seq };
}

/**
 * The window after a response.
 * @param sentSeq the number of the request's ticket; undefined if the ticket had expired
 */
export function nextWindow(known: Window | undefined, reported: Window, sentSeq: number | undefined): Window {
  const isSentAfter = known !== undefined && sentSeq !== undefined && sentSeq > known.seq;
  if (!known || isSentAfter || isBefore(known, reported)) return reported;
  if (isBefore(reported, known)) return known;
  // Both describe one window, and their responses may have changed order: the fewer left counts.
  const later = reported.resetAt > known.resetAt ? reported : known;
  return { ...later, remaining: Math.min(known.remaining, reported.remaining), seq: reported.seq };
}

// Whether the reset of one window is certainly before that of the other.
function isBefore(one: Window, other: Window): boolean {
  return one.resetAt + RULES.sameWindowMs < other.resetNotBefore;
}
