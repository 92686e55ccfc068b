// What a response reports about the windows and the service's clock, put into the state.
import type { Observation } from './ledger-record.ts';
import type { LedgerState, Ticket } from './ledger-state.ts';
import { offsetLo } from './ledger-state.ts';
import { RULES } from './rules.ts';
import type { RateWindow, WindowReading } from './window.ts';
import { compareWindows, mergeReading, openWindow, resetOf, windowEnd } from './window.ts';

export type Slot = 'short' | 'long';
const SLOTS: readonly Slot[] = ['short', 'long'];

/** Applies what a response reports, and returns which window that was; undefined where it reports none. */
export function applyResponse(state: LedgerState, seen: Observation, ticket: Ticket | undefined): Slot | undefined {
  applyClockOffset(state, seen);
  if (seen.limit !== undefined || seen.remaining !== undefined) {
    state.lastHeaders = { limit: seen.limit, at: seen.at };
  }
  const reading = readingOf(state, seen);
  return reading && applyWindow(state, reading, seen.at, ticket);
}

/** Counts an answered request in the windows that its response did not report: it counted there all the same. */
export function decrementUnreported(state: LedgerState, reported: Slot | undefined): void {
  // A request granted before all that are in flight cannot be answered any more.
  const oldest = state.tickets.values().next().value?.seq ?? state.seq;
  for (const slot of SLOTS) {
    const window = state[slot];
    if (!window || reported === slot) continue;
    window.remaining = Math.max(0, window.remaining - 1);
    window.uncounted = [...window.uncounted.filter((at) => at > oldest), state.seq];
  }
}

/** Subtracts lost requests, which a response has settled in the window it reports, from the other window. */
export function settleOtherWindow(state: LedgerState, reported: Slot, settled: number): void {
  const other = reported === 'short' ? state.long : state.short;
  if (other) other.remaining = Math.max(0, other.remaining - settled);
}

/** Drops windows with nothing left, after a look was served all the same. */
export function dropRefuted(state: LedgerState, reported: Slot | undefined): void {
  for (const slot of SLOTS) if (slot !== reported && state[slot]?.remaining === 0) state[slot] = undefined;
}

// A window without its end is ignored, even where nothing is left of it: how long to wait would be a guess.
function readingOf(state: LedgerState, { at, limit, remaining, reset }: Observation): WindowReading | undefined {
  if (remaining === undefined || !reset || remaining < 0) return undefined;
  return resetOf(reset, offsetLo(state)) - at > RULES.farthestResetMs ? undefined : { limit, remaining, reset };
}

function applyWindow(state: LedgerState, reported: WindowReading, at: number, ticket: Ticket | undefined): Slot {
  const alone = ticket?.canary ?? false;
  if (alone && state.long && at >= windowEnd(state.long, offsetLo(state))) state.long = undefined;
  const slot = slotOf(state, reported, at);
  const known = state[slot];
  // Responses that came since its request was granted, and did not report this window, may have counted after it.
  const uncounted = (known && ticket && known.uncounted.filter((seq) => seq > ticket.seq)) ?? [];
  const reading = { ...reported, remaining: Math.max(0, reported.remaining - uncounted.length) };
  const order = known && compareWindows(known, reading);
  // A canary's response replaces what was known before the canary was sent. What came since may be newer: late requests
  // of the window before are processed after the canary, and their responses may overtake its own.
  const fresh =
    !known || order === 'later' || (ticket && known.seenSeq < ticket.seq && isRefilled(known, reading, ticket));
  const seen = { at, seq: state.seq };
  if (fresh) state[slot] = { ...openWindow(reading, seen, state.tickets.size + 1, alone, known), uncounted };
  else if (order === 'same') {
    mergeReading(known, reading, seen);
    known.exactReset ||= alone;
  }
  return slot;
}

// A request sent after the last response finds less left in the same window; as much where a request did not count.
function isRefilled(known: RateWindow, reading: WindowReading, ticket: Ticket): boolean {
  return ticket.canary
    ? reading.remaining >= known.remaining || known.remaining === 0
    : reading.remaining > known.remaining;
}

function slotOf(state: LedgerState, reading: WindowReading, at: number): Slot {
  const { short, long } = state;
  if (long && long.limit === reading.limit && compareWindows(long, reading) === 'same') return 'long';
  if (resetOf(reading.reset, offsetLo(state)) - at > RULES.longWindowMs) return 'long';
  if (!short || short.limit === undefined || reading.limit === undefined) return 'short';
  // Near its end the long window looks like a short one: of two, the larger limit with the later end is the long one.
  const order = compareWindows(short, reading);
  if (reading.limit < short.limit && order === 'earlier') {
    state.long = short;
    state.short = undefined;
  }
  const live = at < windowEnd(short, offsetLo(state));
  return live && reading.limit > short.limit && order === 'later' ? 'long' : 'short';
}

function applyClockOffset(state: LedgerState, seen: Observation): void {
  if (!seen.offset) return;
  const lo = Math.max(state.offset?.lo ?? Number.NEGATIVE_INFINITY, seen.offset.lo);
  const hi = Math.min(state.offset?.hi ?? Number.POSITIVE_INFINITY, seen.offset.hi);
  const expired = !state.offset || seen.at - state.offset.since > RULES.offsetLifeMs;
  // Bounds that exclude one another mean that a clock was set: the newest response is right.
  state.offset =
    expired || lo > hi ? { ...seen.offset, since: seen.at } : { lo, hi, since: state.offset?.since ?? seen.at };
}
