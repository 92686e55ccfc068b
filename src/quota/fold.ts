// The ledger as a pure fold: records in, state out. Whether a ticket is granted depends on the records before it alone.
//
// Constants here and in window.ts are part of the format: whoever changes one changes the ledger's file name too.
import type { LogFormat } from '../log/append.ts';
import type { BlockReason, Loss, Observation, Record } from './record.ts';
import { parseRecord } from './record.ts';
import type { Window, WindowReading } from './window.ts';
import { compareWindows, endOf, mergeReading, openWindow, reserveOf } from './window.ts';

/** A request that may be on its way. */
export interface Ticket {
  /** Its place in the order of records. */
  readonly seq: number;
  readonly at: number;
  /** When it stops counting although nobody closed it, epoch milliseconds. */
  readonly expires: number;
  readonly pid: number;
  readonly start: number;
  /** Machine, boot and process namespace: a pid means something there only. */
  readonly host: string;
  /** The one request allowed while nothing is known of the window. */
  readonly canary: boolean;
}

/** Nobody sends before `until`. */
export interface Block {
  readonly until: number;
  readonly reason: BlockReason;
  readonly since: number;
  readonly seq: number;
  /** The wait without jitter, milliseconds: the next in a row is at least twice as long. */
  readonly waitMs: number;
  readonly strikes: number;
}

/** What all processes know together. */
export interface State {
  /** The latest time any record told; the fold never goes back. */
  time: number;
  seq: number;
  readonly tickets: Map<string, Ticket>;
  /** Places of tickets whose request may or may not have counted; a later ticket's reply settles them. */
  debts: number[];
  short: Window | undefined;
  long: Window | undefined;
  /** False until a reply came after the start or after a block. */
  verified: boolean;
  block: Block | undefined;
  /** Bounds of (service's clock - ours), milliseconds. */
  offset: { lo: number; hi: number; since: number } | undefined;
  /** Who took tickets, and when last. */
  readonly users: Map<string, number>;
  /** What the last reply with rate-limit headers said. */
  said: { limit: number | undefined; remaining: number | undefined; at: number } | undefined;
}

/** Whether a request may go now; if not, when to look again. */
export type Admission =
  | { readonly granted: true; readonly canary: boolean }
  | { readonly granted: false; readonly until: number; readonly reason: 'blocked' | 'window' | 'sibling' };

const LONG_WINDOW_MS = 600_000;
const DEFAULT_WINDOW_MS = 60_000;
const OFFSET_LIFE_MS = 600_000;
const CLOCK_STEP_MS = 60_000;
const FLOOR_MS = 1000;
const DOUBLING_CAP_MS = 3_600_000;
const SPENT_MS = 900_000;
const BLOCK_CAP_MS = 25 * 3_600_000;
const USERS_KEPT = 50;
const USER_LIFE_MS = 60_000;
const DEBTS_KEPT = 2000;
const LOOK_AGAIN_MS = 10;

/** @returns the state before the first record */
export function initialState(): State {
  return {
    time: 0,
    seq: 0,
    tickets: new Map(),
    debts: [],
    short: undefined,
    long: undefined,
    verified: false,
    block: undefined,
    offset: undefined,
    users: new Map(),
    said: undefined,
  };
}

/** The ledger's records as the log folds them. */
export const ledgerFormat: LogFormat<State> = {
  initial: initialState,
  apply(state, text) {
    const record = parseRecord(text);
    if (record) applyRecord(state, record);
  },
  *snapshot(state) {
    yield `S ${JSON.stringify({ ...state, tickets: [...state.tickets], users: [...state.users] })}`;
  },
};

/**
 * Decides whether one more request may go. It changes nothing, so a look never makes processes disagree.
 * @param state what the records gave
 * @param t the time to decide for, epoch milliseconds; not before `state.time`
 * @returns granted, or when to look again and why
 */
export function admit(state: State, t: number): Admission {
  if (state.block && t < state.block.until) return { granted: false, until: state.block.until, reason: 'blocked' };
  let inFlight = 0;
  let owed = state.debts.length;
  let canaryOut = false;
  for (const ticket of state.tickets.values()) {
    if (t > ticket.expires) owed++;
    else inFlight++;
    canaryOut ||= ticket.canary && t <= ticket.expires;
  }
  const again: Admission = { granted: false, until: t + LOOK_AGAIN_MS, reason: 'sibling' };
  if (needsCanary(state, t)) {
    // Late requests of the window before may count in the new one: together they must fit.
    const fits = inFlight < (state.said?.limit ?? 1);
    return canaryOut || !fits ? again : { granted: true, canary: true };
  }
  let full = 0;
  let room = Number.POSITIVE_INFINITY;
  for (const window of liveWindows(state, t)) {
    const left = window.remaining - owed - reserveOf(window);
    room = Math.min(room, left - inFlight);
    // A debt may yet be settled by a reply that is under way; what is used up stays so until the reset.
    const settled = owed === 0 || inFlight === 0;
    if (left <= 0 && settled) full = Math.max(full, endOf(window, offsetLo(state)));
  }
  if (room >= 1) return { granted: true, canary: false };
  return full > t ? { granted: false, until: full, reason: 'window' } : again;
}

/**
 * @param state what the records gave
 * @returns service's clock minus ours at least, milliseconds; 0 where no reply told its time
 */
export function offsetLo(state: State): number {
  return state.offset?.lo ?? 0;
}

/** @returns the windows that are not over at `t`, the short one first */
export function liveWindows(state: State, t: number): Window[] {
  return [state.short, state.long].filter(
    (window) => window !== undefined && t < endOf(window, offsetLo(state)),
  ) as Window[];
}

// After a reset, after a block and with no knowledge one request goes alone, until its reply says where we stand.
function needsCanary(state: State, t: number): boolean {
  const leading = state.short ?? state.long;
  return !state.verified || !leading || t >= endOf(leading, offsetLo(state));
}

function applyRecord(state: State, record: Record): void {
  if (record.kind === 'snapshot') {
    restore(state, record.json);
    return;
  }
  state.seq++;
  if (record.kind === 'clock') {
    stepClock(state, record.at);
    return;
  }
  state.time = Math.max(state.time, record.at);
  expireTickets(state);
  if (record.kind === 'forget') forget(state);
  else if (record.kind === 'ticket') takeTicket(state, record);
  else if (record.kind === 'reply') observe(state, record.id, record.observation);
  else closeTicket(state, record.id, record.how);
}

function closeTicket(state: State, id: string, how: Loss): void {
  if (!state.tickets.delete(id)) return;
  if (how !== 'unsent') owe(state);
  else for (const window of [state.short, state.long]) if (window) window.granted = Math.max(0, window.granted - 1);
}

function takeTicket(state: State, record: Extract<Record, { kind: 'ticket' }>): void {
  if (state.tickets.has(record.id)) return;
  const admission = admit(state, state.time);
  if (!admission.granted) return;
  const { id, pid, start, host, leaseMs } = record;
  const expires = state.time + leaseMs;
  state.tickets.set(id, { seq: state.seq, at: state.time, expires, pid, start, host, canary: admission.canary });
  for (const window of [state.short, state.long]) if (window) window.granted++;
  const user = `${host}:${pid}`;
  state.users.delete(user);
  state.users.set(user, state.time);
  for (const [name, at] of state.users) {
    if (state.users.size <= USERS_KEPT && at >= state.time - USER_LIFE_MS) break;
    state.users.delete(name);
  }
}

function expireTickets(state: State): void {
  for (const [id, ticket] of state.tickets) {
    if (state.time <= ticket.expires) continue;
    state.tickets.delete(id);
    owe(state);
  }
}

function owe(state: State): void {
  state.debts.push(state.seq);
  if (state.debts.length > DEBTS_KEPT) state.debts.shift();
}

function observe(state: State, id: string, seen: Observation): void {
  const ticket = state.tickets.get(id);
  state.tickets.delete(id);
  noteOffset(state, seen);
  if (seen.limit !== undefined || seen.remaining !== undefined) {
    state.said = { limit: seen.limit, remaining: seen.remaining, at: seen.at };
  }
  const told = readingOf(seen);
  const slot = told ? noteWindow(state, told, seen.at, ticket?.canary ?? false) : undefined;
  if (ticket) {
    // What became of requests lost before this one was granted is in the number this one brought.
    if (slot) state.debts = state.debts.filter((debt) => debt > ticket.seq);
    if (seen.status !== 429) countSilently(state, slot);
  }
  if (seen.status === 429) {
    raiseBlock(state, seen, ticket, slot && state[slot]);
    return;
  }
  if (state.block && (!ticket || ticket.seq < state.block.seq)) return;
  state.block = undefined;
  state.verified = true;
}

// A window that the reply did not tell of was counted in all the same.
function countSilently(state: State, told: 'short' | 'long' | undefined): void {
  if (state.short && told !== 'short') state.short.remaining = Math.max(0, state.short.remaining - 1);
  if (state.long && told !== 'long') state.long.remaining = Math.max(0, state.long.remaining - 1);
}

// Nothing left and no reset told: the shortest window the service documents is a minute (service.md, section 8).
function readingOf(seen: Observation): WindowReading | undefined {
  if (seen.remaining === undefined) return undefined;
  if (seen.reset) return { limit: seen.limit, remaining: seen.remaining, reset: seen.reset };
  if (seen.remaining > 0) return undefined;
  return {
    limit: seen.limit,
    remaining: 0,
    reset: { at: seen.at + DEFAULT_WINDOW_MS, clock: 'local', resolution: 1000 },
  };
}

function noteWindow(state: State, told: WindowReading, seenAt: number, canary: boolean): 'short' | 'long' {
  const lo = offsetLo(state);
  if (canary) {
    if (state.long && seenAt >= endOf(state.long, lo)) state.long = undefined;
  }
  const slot = slotOf(state, told, seenAt);
  const known = state[slot];
  // A canary's word replaces what was known: nothing else was granted since, and what is older still counts as in flight.
  const fresh = !known || canary || seenAt >= endOf(known, lo) || compareWindows(known, told) === 'later';
  if (fresh) state[slot] = openWindow(told, seenAt, state.tickets.size + 1, canary, known);
  else if (compareWindows(known, told) === 'same') mergeReading(known, told, seenAt);
  if (canary && slot === 'long' && state.short && seenAt >= endOf(state.short, lo)) state.short = undefined;
  return slot;
}

function slotOf(state: State, told: WindowReading, seenAt: number): 'short' | 'long' {
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
  const live = seenAt < endOf(short, offsetLo(state));
  return live && told.limit > short.limit && order === 'later' ? 'long' : 'short';
}

function noteOffset(state: State, seen: Observation): void {
  if (!seen.offset) return;
  const lo = Math.max(state.offset?.lo ?? Number.NEGATIVE_INFINITY, seen.offset.lo);
  const hi = Math.min(state.offset?.hi ?? Number.POSITIVE_INFINITY, seen.offset.hi);
  const stale = !state.offset || seen.at - state.offset.since > OFFSET_LIFE_MS;
  // Bounds that exclude one another mean that a clock was set: the newest reply is right.
  state.offset =
    stale || lo > hi ? { ...seen.offset, since: seen.at } : { lo, hi, since: state.offset?.since ?? seen.at };
}

function raiseBlock(state: State, seen: Observation, ticket: Ticket | undefined, window: Window | undefined): void {
  const before = state.block;
  // A reset may have been rounded down: where the wait is one, it ends when the window certainly does.
  const end = window && seen.waitFrom === 'reset' ? endOf(window, offsetLo(state)) - seen.at : 0;
  const wanted = Math.ceil(Math.max(FLOOR_MS, seen.waitMs ?? 0, end));
  state.verified = false;
  // Requests that were under way together are refused together: that is one refusal, not several in a row.
  if (before && (!ticket || ticket.seq < before.seq)) {
    const waitMs = Math.max(before.waitMs, Math.min(wanted, BLOCK_CAP_MS));
    const until = Math.max(
      before.until,
      seen.at + Math.min(wanted, BLOCK_CAP_MS) + jitterOf(seen, wanted, before.strikes),
    );
    state.block = { ...before, waitMs, until };
    return;
  }
  const strikes = (before?.strikes ?? 0) + 1;
  const doubled = before ? Math.min(2 * before.waitMs, DOUBLING_CAP_MS) : 0;
  const spent = seen.last && strikes >= 3 ? SPENT_MS : 0;
  const waitMs = Math.min(Math.max(wanted, doubled, spent), BLOCK_CAP_MS);
  const until = seen.at + waitMs + jitterOf(seen, waitMs, strikes);
  const reason = spent > 0 || before?.reason === 'spent' ? 'spent' : seen.waitFrom;
  state.block = { until, reason, since: seen.at, seq: state.seq, waitMs, strikes };
}

// Jitter only lengthens: a twentieth of the wait, and after refusals in a row up to 2^strikes seconds more.
function jitterOf(seen: Observation, waitMs: number, strikes: number): number {
  const spread = Math.min(1000, waitMs / 20) + (strikes >= 2 ? Math.min(60_000, 1000 * 2 ** strikes) : 0);
  return Math.round((seen.chance / 1000) * spread);
}

// What is in flight is a fact of now and stays; all that replies ever said goes.
function forget(state: State): void {
  const { time, seq, tickets } = state;
  Object.assign(state, initialState(), { time, seq, tickets });
}

// The clock was set back: everything that was written down ahead of it moves with it. Whoever comes second finds it done.
function stepClock(state: State, now: number): void {
  const by = state.time - now;
  if (by <= CLOCK_STEP_MS) return;
  state.time = now;
  for (const [id, ticket] of state.tickets) {
    state.tickets.set(id, { ...ticket, at: ticket.at - by, expires: ticket.expires - by });
  }
  for (const window of [state.short, state.long]) {
    if (!window) continue;
    window.seenAt -= by;
    if (window.reset.clock === 'local') window.reset = { ...window.reset, at: window.reset.at - by };
  }
  if (state.block) state.block = { ...state.block, until: state.block.until - by, since: state.block.since - by };
  if (state.offset)
    state.offset = { lo: state.offset.lo + by, hi: state.offset.hi + by, since: state.offset.since - by };
  if (state.said) state.said = { ...state.said, at: state.said.at - by };
  for (const [name, at] of state.users) state.users.set(name, at - by);
}

/**
 * @param state what the records gave
 * @param now the wall clock, epoch milliseconds
 * @returns whether the records are so far ahead of the clock that it must have been set back
 */
export function isAhead(state: State, now: number): boolean {
  return state.time > now + CLOCK_STEP_MS;
}

function restore(state: State, json: string): void {
  try {
    const { tickets, users, ...rest } = JSON.parse(json) as Omit<State, 'tickets' | 'users'> & {
      tickets: [string, Ticket][];
      users: [string, number][];
    };
    Object.assign(state, initialState(), rest, { tickets: new Map(tickets), users: new Map(users) });
  } catch {
    // A snapshot of another hand: the state before it stands.
  }
}
