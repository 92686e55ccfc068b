// The records of a ledger, and the state to which they reduce: the rate limit of one API key, as its processes have learned it.
// Both are plain JSON.

/** The source of a block's end: a header of the refusal, or the backoff. */
export type BlockReason = 'retry_after' | 'reset' | 'backoff';

/** The data that the ledger needs from a response. Durations are milliseconds from its arrival, so they need no clock. */
export interface RateLimitReading {
  readonly status: number;
  /** True for a refusal: a 429, or a 503 to a create or other change. */
  readonly refused: boolean;
  readonly limit?: number | undefined;
  readonly remaining?: number | undefined;
  readonly resetInMs?: number | undefined;
  /** The wait that the headers of a 429 or 503 state. */
  readonly waitMs?: number | undefined;
  readonly waitFrom: BlockReason;
}

/** An event that a process appends. */
export type LedgerEvent =
  | { readonly kind: 'ticket'; readonly id: string; readonly leaseMs: number }
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

export type EventOf<Kind> = Extract<LedgerEvent, { kind: Kind }>;

export interface Ticket {
  readonly id: string;
  /** The number of the ticket's record, which orders requests and responses. */
  readonly seq: number;
  readonly at: number;
  /** Until then, the ticket's request may be sent, and other requests wait for its response (see `openRequests`). */
  readonly overdueAt: number;
  /** Until then, the response to this request may arrive. */
  readonly expires: number;
  /** Whether its request is sent alone, to learn the remaining quota. */
  readonly probe: boolean;
}

/** A window that headers report: the requests left until its reset. */
export interface Window {
  readonly limit?: number | undefined;
  readonly remaining: number;
  /** The latest time of the reset (see `window.ts`). */
  readonly resetAt: number;
  /** The earliest time of the reset. */
  readonly earliestResetAt: number;
  readonly reportedAt: number;
  /** The number of the record that last described the window. */
  readonly seq: number;
}

/** Before `until`, no request is sent. */
export interface Block {
  readonly until: number;
  readonly reason: BlockReason;
  /** The status of the latest refusal that set `until`. */
  readonly status: number;
  readonly since: number;
  /** Consecutive refusals; those of requests in flight together count as one. */
  readonly refusals: number;
  /** The number of the record that began or last extended the block. */
  readonly seq: number;
}

/** Times are epoch milliseconds by the log's clock. */
export interface KeyState {
  /** The time of the last record. */
  time: number;
  /** The number of the last record. */
  seq: number;
  tickets: readonly Ticket[];
  /** The times of lost requests that the remaining quota may not include yet. */
  lost: number[];
  /** The sending time of the last request whose response showed the remaining quota, which includes all requests lost earlier. */
  countedUntil: number;
  window?: Window | undefined;
  /** The last window whose reset was more than an hour ahead: the daily one, for display only. */
  daily?: Window | undefined;
  block?: Block | undefined;
  /** True at the start and after a refusal, until a success, or a server error whose headers show the remaining quota. */
  needsProbe: boolean;
  /** The maximum number of requests in flight; only the integer part counts. */
  concurrency: number;
  /** Whether there was a refusal that no window explained: from then on, an open window alone does not permit a request. */
  hasHiddenLimit: boolean;
}

export function initialState(): KeyState {
  const unknown = { window: undefined, daily: undefined, block: undefined };
  const requests = { time: 0, seq: 0, tickets: [], lost: [], countedUntil: 0 };
  return { ...unknown, ...requests, needsProbe: true, concurrency: 1, hasHiddenLimit: false };
}

export function ticketOf({ tickets }: KeyState, id: string): Ticket | undefined {
  return tickets.find((ticket) => ticket.id === id);
}

/** The block at `t`, if it has not ended. */
export function activeBlock({ block }: KeyState, t: number): Block | undefined {
  return block && t < block.until ? block : undefined;
}

/** Whether a request was sent after record number `seq`; false if its ticket had expired or is in another log. */
export function isSentAfter({ seq }: { readonly seq: number }, ticket: Ticket | undefined): boolean {
  return ticket !== undefined && ticket.seq > seq;
}
