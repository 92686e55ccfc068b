// The window that headers report: the requests left until its reset. Pure.
//
// The time of a reset is known as a range. For example, a request is sent at 0 s, and its response arrives at 4 s and states a
// reset in 60 s. The service may have written this at any moment between, so the reset is at 60 s at the earliest and at 64 s at
// the latest. Requests wait for the latest time. Two responses describe different windows only if their ranges are more than 2 s
// apart.
import type { KeyState, RateLimitReading, Ticket, Window } from './key-state.ts';
import { isSentAfter } from './key-state.ts';
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
  const resets = { resetAt: time + resetInMs, earliestResetAt: sentAt + resetInMs };
  return { limit, remaining, ...resets, reportedAt: time, seq };
}

/** The window after a response. */
export function nextWindow(known: Window | undefined, reported: Window, ticket: Ticket | undefined): Window {
  if (!known || reported.reportedAt >= windowEnd(known)) return reported;
  if (isSentAfter(known, ticket) || resetsBefore(known, reported)) return reported;
  if (resetsBefore(reported, known)) return known;
  // Both describe one window, and their responses may have changed order: the lower remaining number counts.
  const later = reported.resetAt > known.resetAt ? reported : known;
  return { ...later, remaining: Math.min(known.remaining, reported.remaining), seq: reported.seq };
}

// Whether one range ends more than 2 s before the other begins.
function resetsBefore(one: Window, other: Window): boolean {
  return one.resetAt + RULES.sameWindowMs < other.earliestResetAt;
}
