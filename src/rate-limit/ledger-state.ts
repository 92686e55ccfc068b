// What all processes know together: the state that the ledger's records fold into.
import type { BlockReason } from './ledger-record.ts';
import type { RateWindow } from './window.ts';
import { windowEnd } from './window.ts';

/**
 * `canary`: the one request allowed while nothing is known of the window; `probe`: the last one of a window, held back
 * to find out whether the next has begun.
 */
export type Role = 'plain' | 'canary' | 'probe';

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
  readonly role: Role;
}

/** Nobody sends before `until`. */
export interface Block {
  readonly until: number;
  readonly reason: BlockReason;
  readonly since: number;
  /** The place of the 429 that began it: who was sent before was refused together with it. */
  readonly seq: number;
  /** The place of the 429 that lengthened it last: only who was sent after that can lift it. */
  readonly lifted: number;
  /** The wait, milliseconds: the next in a row is at least twice as long. */
  readonly waitMs: number;
  readonly consecutive429s: number;
}

/** What all processes know together. */
export interface LedgerState {
  /** The latest time any record told; the fold never goes back. */
  time: number;
  seq: number;
  readonly tickets: Map<string, Ticket>;
  /** Places of tickets whose request may or may not have counted; a later ticket's reply settles them. */
  unconfirmed: number[];
  short: RateWindow | undefined;
  long: RateWindow | undefined;
  /** False until a reply came after the start or after a block. */
  verified: boolean;
  block: Block | undefined;
  /** Bounds of (service's clock - ours), milliseconds. */
  offset: { lo: number; hi: number; since: number } | undefined;
  /** Who took tickets, and when last. */
  readonly users: Map<string, number>;
  /** What the last reply with rate-limit headers said. */
  lastHeaders: { limit: number | undefined; at: number } | undefined;
}

/** @returns the state before the first record */
export function initialState(): LedgerState {
  return {
    time: 0,
    seq: 0,
    tickets: new Map(),
    unconfirmed: [],
    short: undefined,
    long: undefined,
    verified: false,
    block: undefined,
    offset: undefined,
    users: new Map(),
    lastHeaders: undefined,
  };
}

/**
 * @param state what the records gave
 * @returns service's clock minus ours at least, milliseconds; 0 where no reply told its time
 */
export function offsetLo(state: LedgerState): number {
  return state.offset?.lo ?? 0;
}

/** @returns the windows that are not over at `t`, the short one first */
export function liveWindows(state: LedgerState, t: number): RateWindow[] {
  return [state.short, state.long].filter(
    (window) => window !== undefined && t < windowEnd(window, offsetLo(state)),
  ) as RateWindow[];
}
