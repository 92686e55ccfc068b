// What a reply tells of the windows, put in its place: the short window, the long one, and the service's clock.
import type { Observation } from './ledger-record.ts';
import type { LedgerState, Ticket } from './ledger-state.ts';
import { offsetLo } from './ledger-state.ts';
import type { RateWindow, WindowReading } from './window.ts';
import { compareWindows, mergeReading, openWindow, windowEnd } from './window.ts';

// A reset farther away than this belongs to the day, a nearer one to the minute (service.md, section 8).
const LONG_WINDOW_MS = 600_000;
// Clocks drift: what was learnt of the service's clock is learnt anew after this time.
const OFFSET_LIFE_MS = 600_000;

/**
 * Takes in what a reply says of the windows.
 * @param state changed in place
 * @param seen the reply
 * @param ticket its request's ticket, where it still counted
 * @returns which window it told of; undefined where it told of none
 */
export function applyResponse(
  state: LedgerState,
  seen: Observation,
  ticket: Ticket | undefined,
): 'short' | 'long' | undefined {
  applyClockOffset(state, seen);
  if (seen.limit !== undefined || seen.remaining !== undefined) {
    state.lastHeaders = { limit: seen.limit, at: seen.at };
  }
  const told = readingOf(seen);
  return told && applyWindow(state, told, seen.at, ticket);
}

/**
 * Counts a request in the windows that its reply did not tell of: it counted there all the same.
 * @param state changed in place
 * @param told the window it did tell of
 */
export function decrementUnreported(state: LedgerState, told: 'short' | 'long' | undefined): void {
  // A request granted before all that are under way cannot be answered any more.
  const oldest = state.tickets.values().next().value?.seq ?? state.seq;
  for (const slot of ['short', 'long'] as const) {
    const window = state[slot];
    if (!window || told === slot) continue;
    window.remaining = Math.max(0, window.remaining - 1);
    window.silent = [...window.silent.filter((at) => at > oldest), state.seq];
  }
}

/**
 * Takes lost requests that a reply has settled in the window it told of out of the other one: they may count there.
 * @param state changed in place
 * @param told the window it did tell of
 * @param settled how many
 */
export function settleOtherWindow(state: LedgerState, told: 'short' | 'long', settled: number): void {
  const other = told === 'short' ? state.long : state.short;
  if (other) other.remaining = Math.max(0, other.remaining - settled);
}

// Without its end a window says nothing, not even where nothing is left of it: how long to wait would be a guess (contract, section 6).
function readingOf({ limit, remaining, reset }: Observation): WindowReading | undefined {
  return remaining === undefined || !reset ? undefined : { limit, remaining, reset };
}

function applyWindow(
  state: LedgerState,
  told: WindowReading,
  seenAt: number,
  ticket: Ticket | undefined,
): 'short' | 'long' {
  const lo = offsetLo(state);
  const alone = ticket !== undefined && ticket.role !== 'plain';
  if (alone && state.long && seenAt >= windowEnd(state.long, lo)) state.long = undefined;
  const slot = slotOf(state, told, seenAt);
  const known = state[slot];
  // Replies that came since its request was granted and told nothing of this window may have counted after it.
  const silent = (known && ticket && known.silent.filter((at) => at > ticket.seq)) ?? [];
  const reading = { ...told, remaining: Math.max(0, told.remaining - silent.length) };
  const order = known && compareWindows(known, reading);
  // Who went alone replaces what was known before it went. What came since may be the later word: late requests of the
  // window before are processed after it, and their replies may overtake its own.
  const fresh =
    !known || order === 'later' || (ticket && known.seenSeq < ticket.seq && isRefilled(known, reading, ticket));
  const seen = { at: seenAt, seq: state.seq };
  if (fresh) state[slot] = { ...openWindow(reading, seen, state.tickets.size + 1, alone, known), silent };
  else if (order === 'same') mergeReading(known, reading, seen);
  return slot;
}

// Whoever was sent after the last reply finds less left in the same window. As much is left where a request did not count.
function isRefilled(known: RateWindow, told: WindowReading, ticket: Ticket): boolean {
  if (ticket.role === 'canary') return true;
  return ticket.role === 'probe' ? told.remaining >= known.remaining : told.remaining > known.remaining;
}

function slotOf(state: LedgerState, told: WindowReading, seenAt: number): 'short' | 'long' {
  const { short, long } = state;
  if (long && long.limit === told.limit && compareWindows(long, told) === 'same') return 'long';
  const inMs = told.reset.at - (told.reset.clock === 'server' ? offsetLo(state) : 0) - seenAt;
  if (inMs > LONG_WINDOW_MS) return 'long';
  if (!short || short.limit === undefined || told.limit === undefined) return 'short';
  // Near its end the long window looks like a short one: of two the larger limit with the later end is the long one.
  const order = compareWindows(short, told);
  if (told.limit < short.limit && order === 'earlier') {
    state.long = short;
    state.short = undefined;
  }
  const live = seenAt < windowEnd(short, offsetLo(state));
  return live && told.limit > short.limit && order === 'later' ? 'long' : 'short';
}

function applyClockOffset(state: LedgerState, seen: Observation): void {
  if (!seen.offset) return;
  const lo = Math.max(state.offset?.lo ?? Number.NEGATIVE_INFINITY, seen.offset.lo);
  const hi = Math.min(state.offset?.hi ?? Number.POSITIVE_INFINITY, seen.offset.hi);
  const stale = !state.offset || seen.at - state.offset.since > OFFSET_LIFE_MS;
  // Bounds that exclude one another mean that a clock was set: the newest reply is right.
  state.offset =
    stale || lo > hi ? { ...seen.offset, since: seen.at } : { lo, hi, since: state.offset?.since ?? seen.at };
}
