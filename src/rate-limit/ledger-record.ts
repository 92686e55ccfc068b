// The records of the ledger.

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
      /** When it arrived. */
      readonly at: number;
      readonly id: string;
      /** By the clock of the machine that received it. */
      readonly seen: Observation;
      /** A random number from 0 to 999, recorded so that all processes compute the same jitter. */
      readonly jitterDraw: number;
    }
  /** A block taken over from another ledger of the same key. */
  | { readonly kind: 'block'; readonly at: number; readonly until: number; readonly reason: BlockReason }
  | { readonly kind: 'closed'; readonly at: number; readonly id: string; readonly how: TicketEnd }
  | { readonly kind: 'clock'; readonly at: number }
  | { readonly kind: 'forget'; readonly at: number };

/** The clock of a log, by which its records are written. Milliseconds. */
export interface LogClock {
  /** Epoch milliseconds. */
  readonly now: number;
  /** The log's clock minus ours, and by how much that may be wrong: 0 except on a server. */
  readonly ahead: number;
  readonly aheadErrorMs: number;
}

/** Sets a record's time to the server's; a response keeps its arrival time, at most ten minutes before that. */
export function stamped(record: LedgerRecord, at: number): LedgerRecord {
  if (record.kind !== 'response') return { ...record, at };
  const arrivedAt = Math.max(Math.min(record.at, at), at - 600_000);
  return { ...record, at: arrivedAt, seen: movedTo(record.seen, arrivedAt) };
}

// Converts a response by the time of its arrival, so that it does not matter if our clock was set before.
function movedTo(seen: Observation, at: number): Observation {
  const { reset, offset } = seen;
  const ms = at - seen.at;
  return {
    ...seen,
    at,
    reset: reset?.clock === 'local' ? { ...reset, at: reset.at + ms } : reset,
    offset: offset && { lo: offset.lo - ms, hi: offset.hi - ms },
  };
}
