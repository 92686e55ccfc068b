// One window of the rate limit: what is left of it, when it ends, and what others seem to take from it. Pure.
import { RULES } from './rules.ts';

export interface WindowReset {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly clock: 'server' | 'local';
  /** The value's unit in milliseconds: 1000 for whole seconds. */
  readonly resolution: number;
}

export interface WindowReading {
  readonly limit: number | undefined;
  readonly remaining: number;
  readonly reset: WindowReset;
}

/** When a response came, and its record's number. */
export interface Seen {
  readonly at: number;
  readonly seq: number;
}

export interface RateWindow {
  limit: number | undefined;
  /** The least that any response in this window reported. */
  remaining: number;
  /** Records of responses that counted in it without reporting it, as far as a late response may not know of them. */
  uncounted: readonly number[];
  reset: WindowReset;
  /** When its first response came; undefined where it was first seen half-way. */
  startedAt: number | undefined;
  /** When a response last reported it, and that record's number. */
  seenAt: number;
  seenSeq: number;
  /** Tickets granted in it by this machine, and not given back. */
  granted: number;
  /** What others have used of it at least; undefined where it was first seen with requests of ours in flight. */
  foreign: number | undefined;
  /** The largest increase of that between two responses. */
  step: number;
  /** Whether a brief window was found open although its reset, had it been rounded up, had passed. */
  exactReset: boolean;
}

/** Converts a reset to our clock; `offsetLo` is the service's clock minus ours, milliseconds. */
export function resetOf({ at, clock }: WindowReset, offsetLo: number): number {
  return clock === 'server' ? at - offsetLo : at;
}

/** When a reset has certainly passed, by our clock: it may have been rounded down. */
export function certainEnd(reset: WindowReset, offsetLo: number): number {
  return resetOf(reset, offsetLo) + Math.max(RULES.leastGuardMs, reset.resolution);
}

export function windowEnd(window: RateWindow, offsetLo: number): number {
  return certainEnd(window.reset, offsetLo);
}

/**
 * Starts a window from the first response in it.
 * @param granted tickets that may count in it already, the response's own included
 * @param exact whether that number is exact, so that what is used beyond it is used by others
 * @param before the window before it: foreign use is expected again, half as strong
 */
export function openWindow(
  reading: WindowReading,
  seen: Seen,
  granted: number,
  exact: boolean,
  before: RateWindow | undefined,
): RateWindow {
  const used = reading.limit === undefined ? 0 : reading.limit - reading.remaining;
  return {
    ...reading,
    uncounted: [],
    startedAt: used <= 1 ? seen.at : undefined,
    seenAt: seen.at,
    seenSeq: seen.seq,
    granted,
    foreign: exact ? Math.max(0, used - granted) : undefined,
    step: Math.floor((before?.step ?? 0) / 2),
    exactReset: before?.exactReset ?? false,
  };
}

/** Whether a reading describes the same window, a later one, or an earlier one (a late response). */
export function compareWindows(window: RateWindow, reading: WindowReading): 'same' | 'later' | 'earlier' {
  const difference = reading.reset.at - window.reset.at;
  const byServer = reading.reset.clock === 'server' && window.reset.clock === 'server';
  if (Math.abs(difference) <= (byServer ? RULES.sameWindowMs : RULES.sameLocalWindowMs)) return 'same';
  if (reading.reset.clock !== window.reset.clock) return difference > 0 ? 'later' : 'same';
  return difference > 0 ? 'later' : 'earlier';
}

/** Merges another response of the same window, in place; responses out of order only lower what is left. */
export function mergeReading(window: RateWindow, reading: WindowReading, seen: Seen): void {
  window.remaining = Math.min(window.remaining, reading.remaining);
  window.limit = reading.limit ?? window.limit;
  if (reading.reset.clock === window.reset.clock && reading.reset.at > window.reset.at) window.reset = reading.reset;
  window.seenAt = seen.at;
  window.seenSeq = seen.seq;
  if (window.limit === undefined || window.foreign === undefined) return;
  const foreign = Math.max(0, window.limit - window.remaining - window.granted);
  window.step = Math.max(window.step, foreign - window.foreign);
  window.foreign = Math.max(window.foreign, foreign);
}

/** How many requests are reserved for others who use the key elsewhere: twice their largest step. */
export function reserveOf(window: RateWindow): number {
  return Math.min(2 * window.step, Math.floor((window.limit ?? 0) * RULES.foreignShare));
}

/**
 * Until when the last request of a brief window is kept: it then meets the next window, or finds this one still open. A
 * reset in whole seconds is first taken to be rounded up, then, once that was found wrong, to be exact.
 */
export function lastRequestAt(window: RateWindow, offsetLo: number, bulk: boolean): number | undefined {
  const { startedAt, reset, limit, exactReset } = window;
  if (startedAt === undefined || reset.resolution < 1000 || (limit ?? 0) < RULES.briefWindowLimit) return undefined;
  const resetAt = resetOf(reset, offsetLo);
  const length = resetAt - startedAt;
  if (length > (bulk ? RULES.briefWindowMs : RULES.instantWindowMs)) return undefined;
  // Where the service's clock is known to a second only, a window of 5 s seems to take up to 6.
  const seconds = reset.clock === 'local' ? Math.floor(length / 1000) : Math.ceil((length - 1) / 1000) - 1;
  if (seconds > 0 && !exactReset) return startedAt + 1000 * seconds + RULES.leastGuardMs;
  return length > RULES.instantWindowMs ? undefined : resetAt + RULES.leastGuardMs;
}
