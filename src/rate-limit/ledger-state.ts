// What all processes know together: the state that the ledger's records are reduced to.
import type { Block, EndedRow } from './block.ts';
import type { Pace } from './pace.ts';
import { EARLIEST, initialPace } from './pace.ts';
import { RULES } from './rules.ts';
import type { RateWindow } from './window.ts';
import { windowEnd } from './window.ts';

/** A request that may be in flight. */
export interface Ticket {
  /** The number of its record; responses are compared by it, not by time. */
  readonly seq: number;
  readonly at: number;
  /** When it stops counting although nobody closed it. */
  readonly expires: number;
  readonly pid: number;
  readonly start: string;
  readonly host: string;
  /** It goes alone: its response says where the key stands. */
  readonly canary: boolean;
}

/** Times are epoch milliseconds by our clock. */
export interface LedgerState {
  /** The latest time of any record; it never goes back, but where the clock was set back. */
  time: number;
  seq: number;
  readonly tickets: Map<string, Ticket>;
  /** Requests that may or may not have counted, by the record that ended them; a later ticket's response settles them. */
  unconfirmed: number[];
  short: RateWindow | undefined;
  long: RateWindow | undefined;
  /** False until a response came, after the start and after a block. */
  verified: boolean;
  block: Block | undefined;
  lastRow: EndedRow | undefined;
  pace: Pace;
  /** Bounds of the service's clock minus ours. */
  offset: { lo: number; hi: number; since: number } | undefined;
  lastHeaders: { limit: number | undefined; at: number } | undefined;
}

export function initialState(): LedgerState {
  return {
    time: EARLIEST,
    seq: 0,
    tickets: new Map(),
    unconfirmed: [],
    short: undefined,
    long: undefined,
    verified: false,
    block: undefined,
    lastRow: undefined,
    pace: initialPace(),
    offset: undefined,
    lastHeaders: undefined,
  };
}

/** The least that the service's clock is ahead of ours, which gives the longest waits; 0 where no response had a date. */
export function offsetLo(state: LedgerState): number {
  return state.offset?.lo ?? 0;
}

/** Returns the windows that have not ended at `t`, the short one first. */
export function liveWindows(state: LedgerState, t: number): RateWindow[] {
  return [state.short, state.long].filter(
    (window) => window !== undefined && t < windowEnd(window, offsetLo(state)),
  ) as RateWindow[];
}

/** Whether the records are so far ahead of the clock that it must have been set back. */
export function isAhead(state: LedgerState, now: number): boolean {
  return state.time > now + RULES.clockStepMs;
}

/** After the clock was set back, moves everything that was recorded ahead of it. The second process finds it done. */
export function moveTimesBack(state: LedgerState, now: number): void {
  if (!isAhead(state, now)) return;
  const by = state.time - now;
  state.time = now;
  for (const [id, ticket] of state.tickets) {
    state.tickets.set(id, { ...ticket, at: ticket.at - by, expires: ticket.expires - by });
  }
  for (const window of [state.short, state.long]) {
    if (!window) continue;
    if (window.startedAt !== undefined) window.startedAt -= by;
    window.seenAt -= by;
    if (window.reset.clock === 'local') window.reset = { ...window.reset, at: window.reset.at - by };
  }
  const { block, lastRow, offset, lastHeaders, pace } = state;
  if (block) state.block = { ...block, until: block.until - by, since: block.since - by };
  if (lastRow) state.lastRow = { ...lastRow, until: lastRow.until - by };
  if (offset) state.offset = { lo: offset.lo + by, hi: offset.hi + by, since: offset.since - by };
  if (lastHeaders) state.lastHeaders = { ...lastHeaders, at: lastHeaders.at - by };
  const refusedAt = pace.refusedAt === undefined ? undefined : pace.refusedAt - by;
  state.pace = { ...pace, since: pace.since - by, refusedAt, grantedAt: pace.grantedAt - by };
}
