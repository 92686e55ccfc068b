// The ledger's state as one line, the head of a new generation. A damaged one is ignored: the ledger begins anew.
import {
  isBoolean,
  isNumber,
  isText,
  listOf,
  optional,
  pair,
  shape,
  tryParseJson,
} from '../append-log/record-shape.ts';
import { isReset, isWaitFrom } from './ledger-record.ts';
import type { LedgerState, Ticket } from './ledger-state.ts';
import { initialState, offsetLo } from './ledger-state.ts';
import { RULES } from './rules.ts';
import type { RateWindow } from './window.ts';
import { windowEnd } from './window.ts';

type Stored = Omit<LedgerState, 'tickets'> & { readonly tickets: readonly [string, Ticket][] };

const isTicket = shape({
  seq: isNumber,
  at: isNumber,
  expires: isNumber,
  pid: isNumber,
  start: isText,
  host: isText,
  canary: isBoolean,
});
const isWindow = shape({
  limit: optional(isNumber),
  remaining: isNumber,
  uncounted: listOf(isNumber),
  reset: isReset,
  startedAt: optional(isNumber),
  seenAt: isNumber,
  seenSeq: isNumber,
  granted: isNumber,
  foreign: optional(isNumber),
  step: isNumber,
  exactReset: isBoolean,
});
const isSnapshot = shape({
  time: isNumber,
  seq: isNumber,
  tickets: listOf(pair(isText, isTicket)),
  unconfirmed: listOf(isNumber),
  short: optional(isWindow),
  long: optional(isWindow),
  verified: isBoolean,
  block: optional(
    shape({
      until: isNumber,
      since: isNumber,
      seq: isNumber,
      liftedBy: isNumber,
      reason: isWaitFrom,
      consecutive429s: isNumber,
    }),
  ),
  lastRow: optional(shape({ consecutive429s: isNumber, until: isNumber })),
  pace: shape({
    concurrency: isNumber,
    intervalMs: optional(isNumber),
    ramping: isBoolean,
    passed: isNumber,
    since: isNumber,
    refusedAt: optional(isNumber),
    grantedAt: isNumber,
    credit: isNumber,
  }),
  offset: optional(shape({ lo: isNumber, hi: isNumber, since: isNumber })),
  lastHeaders: optional(shape({ limit: optional(isNumber), at: isNumber })),
});

const PREFIX = 'snapshot ';

export function formatSnapshot(state: LedgerState): string {
  return PREFIX + JSON.stringify({ ...state, tickets: [...state.tickets] } satisfies Stored);
}

/** Reads a snapshot; undefined where the line is none or is damaged. No time in it lies farther ahead than the rules allow. */
export function parseSnapshot(text: string): LedgerState | undefined {
  const stored = text.startsWith(PREFIX) ? tryParseJson(text.slice(PREFIX.length)) : undefined;
  if (!isSnapshot(stored)) return undefined;
  const { tickets, ...rest } = stored as Stored;
  const state: LedgerState = { ...initialState(), ...rest, tickets: new Map() };
  const { time, block } = state;
  for (const [id, ticket] of tickets) {
    state.tickets.set(id, { ...ticket, expires: Math.min(ticket.expires, time + RULES.longestLeaseMs) });
  }
  const latest = time + (1 + RULES.jitterShare) * RULES.blockCapMs;
  if (block) state.block = { ...block, since: Math.min(block.since, time), until: Math.min(block.until, latest) };
  const sane = (window: RateWindow | undefined): RateWindow | undefined =>
    window && windowEnd(window, offsetLo(state)) <= time + RULES.farthestResetMs ? window : undefined;
  state.short = sane(state.short);
  state.long = sane(state.long);
  return state;
}
