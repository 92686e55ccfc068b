// The records of the ledger.
import type { ProcessRef } from '../shared-log/process-liveness.ts';

/** The origin of the end of a block: a header of the refusal, or the backoff. */
export type BlockReason = 'retry_after' | 'reset' | 'backoff';

/** The data that the ledger needs from a response. Durations are milliseconds from its arrival, so they need no clock. */
export interface RateLimitReading {
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

/** An event that a process appends; the log adds the time. */
export type LedgerEvent =
  | { readonly kind: 'ticket'; readonly id: string; readonly holder: ProcessRef; readonly leaseMs: number }
  | {
      readonly kind: 'response';
      readonly id: string;
      readonly reading: RateLimitReading;
      /** A random number from 0 to 999, recorded so that all processes compute the same jitter. */
      readonly jitterDraw: number;
    }
  /** How a ticket ended without a response: nothing was sent, or the service may have seen the request. */
  | { readonly kind: 'unsent' | 'lost'; readonly id: string }
  | { readonly kind: 'clock' }
  | { readonly kind: 'forget' };

/** `at`: epoch milliseconds by the log's clock. */
export type LedgerRecord = LedgerEvent & { readonly at: number };
export type RecordOf<Kind> = Extract<LedgerRecord, { kind: Kind }>;
