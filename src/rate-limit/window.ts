// One window of the rate limit: what is left of it, when it ends, and what others seem to take from it. Pure.

/** When a window ends, as the service said it; see `ResetTime` of the header reader. */
export interface WindowReset {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly clock: 'server' | 'local';
  /** How fine the value is, in milliseconds. */
  readonly resolution: number;
}

/** What is known of one window. */
export interface RateWindow {
  limit: number | undefined;
  /** The least that any reply in this window said was left. */
  remaining: number;
  /** Places of replies that counted in it and did not tell of it, as far as a late reply may still not know of them. */
  silent: readonly number[];
  reset: WindowReset;
  /** When a reply last told of it, epoch milliseconds, and that reply's place in the order of records. */
  seenAt: number;
  seenSeq: number;
  /** Tickets granted in it by this machine, and not given back. */
  granted: number;
  /** What others have used of it at least; undefined where it was met half-way, with requests of ours under way. */
  foreign: number | undefined;
  /** The largest jump of that between two replies. */
  step: number;
}

/** What one reply said about a window. */
export interface WindowReading {
  readonly limit: number | undefined;
  readonly remaining: number;
  readonly reset: WindowReset;
}

// Replies whose resets differ by no more than this tell of the same window: whole seconds, rounded either way.
const SAME_WINDOW_MS = 1500;
// Seconds from now are rounded too, and counted from whenever the reply came.
const SAME_LOCAL_WINDOW_MS = 3000;
/** A reset may have been rounded down to what its digits can say; a very fine one may still be a moment early. Milliseconds. */
export const LEAST_GUARD_MS = 50;
const FOREIGN_SHARE = 0.2;

/**
 * @param window a window
 * @param offsetLo service's clock minus ours at least, milliseconds: the longest wait
 * @returns when it is certainly over, epoch milliseconds by our clock
 */
export function windowEnd(window: RateWindow, offsetLo: number): number {
  const { at, clock, resolution } = window.reset;
  return resetOf(at, clock, offsetLo) + Math.max(LEAST_GUARD_MS, resolution);
}

/**
 * @param at the reset, epoch milliseconds
 * @param clock whose clock it is told by
 * @param offsetLo service's clock minus ours, milliseconds
 * @returns the reset by our clock
 */
export function resetOf(at: number, clock: 'server' | 'local', offsetLo: number): number {
  return clock === 'server' ? at - offsetLo : at;
}

/**
 * Starts a window from the first reply in it.
 * @param reading what the reply said
 * @param seen when it came, and its place in the order of records
 * @param granted tickets that may count in it already, the reply's own included
 * @param counted whether that number is exact, so that what is used beyond it is by others
 * @param before the window before it, whose foreign use is expected again, half as strong
 */
export function openWindow(
  reading: WindowReading,
  seen: { readonly at: number; readonly seq: number },
  granted: number,
  counted: boolean,
  before?: RateWindow,
): RateWindow {
  const used = reading.limit === undefined ? 0 : reading.limit - reading.remaining;
  const foreign = counted ? Math.max(0, used - granted) : undefined;
  return {
    ...reading,
    silent: [],
    seenAt: seen.at,
    seenSeq: seen.seq,
    granted,
    foreign,
    step: Math.floor((before?.step ?? 0) / 2),
  };
}

/**
 * Whether two readings tell of the same window, of a later one, or of an earlier one (a late reply).
 * @param window what is known
 * @param reading what came
 */
export function compareWindows(window: RateWindow, reading: WindowReading): 'same' | 'later' | 'earlier' {
  const difference = reading.reset.at - window.reset.at;
  const exact = reading.reset.clock === 'server' && window.reset.clock === 'server';
  if (Math.abs(difference) <= (exact ? SAME_WINDOW_MS : SAME_LOCAL_WINDOW_MS)) return 'same';
  if (reading.reset.clock !== window.reset.clock) return difference > 0 ? 'later' : 'same';
  return difference > 0 ? 'later' : 'earlier';
}

/**
 * Takes another reply of the same window in; replies out of order only ever lower what is left.
 * @param window changed in place
 * @param reading what the reply said
 * @param seen when it came, and its place in the order of records
 */
export function mergeReading(
  window: RateWindow,
  reading: WindowReading,
  seen: { readonly at: number; readonly seq: number },
): void {
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

/**
 * What is held back for others who use the same key elsewhere: twice their largest step, a fifth of the limit at most.
 * @param window a window
 * @returns requests; 0 where nobody else is seen
 */
export function reserveOf(window: RateWindow): number {
  return Math.min(2 * window.step, Math.floor((window.limit ?? 0) * FOREIGN_SHARE));
}
