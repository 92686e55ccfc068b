// The records of the ledger.
import type { ProcessRef } from '../append-log/process-liveness.ts';
import { RULES } from './rules.ts';

/** What determines the end of a block: a header of the refusal, or the floor. */
export type BlockReason = 'retry_after' | 'reset' | 'backoff';

/** The data that the ledger needs from a response. Durations are milliseconds from its arrival, so they need no clock. */
export interface RateLimitReading {
  /** When the head arrived, epoch milliseconds by the clock of the machine that received it. */
  readonly at: number;
  /** The time from the first byte of the request. */
  readonly tookMs: number;
  readonly status: number;
  /** True for a refusal: a 429, or a 503 to a create. */
  readonly refused: boolean;
  readonly limit?: number | undefined;
  readonly remaining?: number | undefined;
  readonly resetInMs?: number | undefined;
  /** The wait that the headers of a 429 or 503 state. */
  readonly waitMs?: number | undefined;
  readonly waitFrom: BlockReason;
}

/** How a ticket ended without a response: nothing was sent, or the service may have seen the request. */
export type TicketEnd = 'unsent' | 'lost';

/** What a process appends; the log adds the time. */
export type LedgerEvent =
  | { readonly kind: 'ticket'; readonly id: string; readonly holder: ProcessRef; readonly leaseMs: number }
  | {
      readonly kind: 'response';
      readonly id: string;
      readonly reading: RateLimitReading;
      /** A random number from 0 to 999, recorded so that all processes compute the same jitter. */
      readonly jitterDraw: number;
    }
  /** The rest of a block that another log of the same key has. */
  | { readonly kind: 'block'; readonly ms: number; readonly reason: BlockReason }
  | { readonly kind: 'closed'; readonly id: string; readonly how: TicketEnd }
  | { readonly kind: 'clock' }
  | { readonly kind: 'forget' };

/** `at`: epoch milliseconds by the log's clock; that of a response is its arrival. */
export type LedgerRecord = LedgerEvent & { readonly at: number };
export type RecordOf<Kind> = Extract<LedgerRecord, { kind: Kind }>;

/** Sets a record's time to the server's; waits keep their beginning, unless it is long before that. */
export function stamped(record: LedgerRecord, at: number): LedgerRecord {
  const isWait = record.kind === 'response' || record.kind === 'block';
  return { ...record, at: isWait ? Math.max(Math.min(record.at, at), at - RULES.longestDelayMs) : at };
}
