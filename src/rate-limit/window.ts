// The window that headers report: the requests left until its reset. Pure.
import type { KeyState, Ticket, Window } from './key-state.ts';
import { isSentAfter } from './key-state.ts';
import type { RateLimitReading } from './ledger-record.ts';
import { RULES } from './rules.ts';

/** The time from which a request counts in the next window. */
export function windowEnd({ resetAt }: Window): number {
  return resetAt + RULES.guardMs;
}

/**
 * Ignores a window without a reset, even if nothing is left of it: the wait would be a guess.
 * @param sentAt 0 if the request's ticket had expired: it may have been sent at any time
 */
export function windowFrom(reading: RateLimitReading, sentAt: number, { time, seq }: KeyState): Window | undefined {
  const { limit, remaining, resetInMs } = reading;
  if (remaining === undefined || resetInMs === undefined) return undefined;
  const resets = { resetAt: time + resetInMs, resetNotBefore: sentAt + resetInMs };
  return { limit, remaining, ...resets, reportedAt: time, seq };
}

/** The window after a response. */
export function nextWindow(known: Window | undefined, reported: Window, ticket: Ticket | undefined): Window {
  if (!known || reported.reportedAt >= windowEnd(known)) return reported;
  if (isSentAfter(known, ticket) || isBefore(known, reported)) return reported;
  if (isBefore(reported, known)) return known;
  // Both describe one window, and their responses may have changed order: the lower remaining number counts.
  const later = reported.resetAt > known.resetAt ? reported : known;
  return { ...later, remaining: Math.min(known.remaining, reported.remaining), seq: reported.seq };
}

// Whether the reset of one window is certainly before that of the other.
function isBefore(one: Window, other: Window): boolean {
  return one.resetAt + RULES.sameWindowMs < other.resetNotBefore;
}
