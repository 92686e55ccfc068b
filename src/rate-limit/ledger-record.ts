// The records of the ledger as lines of JSON. Each reader validates a line, and ignores it if it is invalid.
import type { Check } from '../append-log/record-shape.ts';
import { isBoolean, isNumber, isText, oneOf, optional, shape, tryParseJson } from '../append-log/record-shape.ts';

export interface WindowReset {
  /** Epoch milliseconds by `clock`, which is ours if the header was a number of seconds from now. */
  readonly at: number;
  readonly clock: 'service' | 'local';
  /** The unit of the value, milliseconds: 1000 for whole seconds. */
  readonly resolution: number;
}

/** What determines the end of a block: a header of the refusal, or the floor. */
export type BlockReason = 'retry_after' | 'reset' | 'backoff';

/** The data that the ledger needs from a response. Times are epoch milliseconds by our clock. */
export interface Observation {
  /** When the head arrived. */
  readonly at: number;
  readonly status: number;
  /** True for a refusal: a 429, or a 503 to a create. */
  readonly refused: boolean;
  readonly limit?: number | undefined;
  readonly remaining?: number | undefined;
  readonly reset?: WindowReset | undefined;
  /** Bounds of the service's clock minus ours, milliseconds. */
  readonly offset?: { readonly lo: number; readonly hi: number } | undefined;
  /** The wait that the headers of a 429 or 503 state, milliseconds. */
  readonly waitMs?: number | undefined;
  readonly waitFrom: BlockReason;
}

/** How a ticket ended without a response: nothing was sent, the response was lost, or the process died. */
export type TicketEnd = 'unsent' | 'lost' | 'dead';

export type LedgerRecord =
  | {
      readonly kind: 'ticket';
      readonly at: number;
      readonly id: string;
      readonly pid: number;
      readonly start: string;
      readonly host: string;
      readonly leaseMs: number;
    }
  | {
      readonly kind: 'response';
      readonly at: number;
      readonly id: string;
      readonly seen: Observation;
      /** A random number from 0 to 999, recorded so that all processes compute the same jitter. */
      readonly jitterDraw: number;
    }
  /** A block taken over from another ledger of the same key. */
  | { readonly kind: 'block'; readonly at: number; readonly until: number; readonly reason: BlockReason }
  | { readonly kind: 'closed'; readonly at: number; readonly id: string; readonly how: TicketEnd }
  | { readonly kind: 'clock'; readonly at: number }
  | { readonly kind: 'forget'; readonly at: number };

const isReset = shape({ at: isNumber, clock: oneOf('service', 'local'), resolution: isNumber });
const isWaitFrom = oneOf('retry_after', 'reset', 'backoff');

const RECORDS: Readonly<Record<LedgerRecord['kind'], Check>> = {
  ticket: shape({ id: isText, pid: isNumber, start: isText, host: isText, leaseMs: isNumber }),
  response: shape({
    id: isText,
    seen: shape({
      at: isNumber,
      status: isNumber,
      refused: isBoolean,
      limit: optional(isNumber),
      remaining: optional(isNumber),
      reset: optional(isReset),
      offset: optional(shape({ lo: isNumber, hi: isNumber })),
      waitMs: optional(isNumber),
      waitFrom: isWaitFrom,
    }),
    jitterDraw: (value) => isNumber(value) && Number(value) >= 0 && Number(value) < 1000,
  }),
  block: shape({ until: isNumber, reason: isWaitFrom }),
  closed: shape({ id: isText, how: oneOf('unsent', 'lost', 'dead') }),
  clock: () => true,
  forget: () => true,
};

/** Sets a record's time to the server's; a response keeps its arrival time, at most ten minutes before that. */
export function stamped(record: LedgerRecord, at: number): LedgerRecord {
  if (record.kind !== 'response') return { ...record, at };
  const seenAt = Math.max(Math.min(record.at, at), at - 600_000);
  return { ...record, at: seenAt, seen: { ...record.seen, at: seenAt } };
}

export function formatRecord(record: LedgerRecord): string {
  return JSON.stringify(record);
}

/** Reads a line of the log; undefined if it is not a valid record. */
export function parseRecord(text: string): LedgerRecord | undefined {
  const record = tryParseJson(text) as LedgerRecord | undefined;
  if (!shape({ kind: isText, at: isNumber })(record) || !record) return undefined;
  if (!Object.hasOwn(RECORDS, record.kind) || !RECORDS[record.kind](record)) return undefined;
  return record.kind === 'response' && record.seen.at !== record.at ? undefined : record;
}
