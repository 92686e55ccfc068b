// The state of one key, which all processes share. It is plain JSON and its own snapshot.
import type { ProcessRef } from '../shared-log/process-liveness.ts';
import type { BlockReason } from './ledger-record.ts';

export interface Ticket {
  /** The number of its record, which orders requests and responses. */
  readonly seq: number;
  readonly at: number;
  /** Until then, its request may be sent, and other requests wait for its response. */
  readonly overdueAt: number;
  /** Until then, its response may arrive. */
  readonly expires: number;
  readonly holder: ProcessRef;
  /** Whether it was sent alone, to learn the remaining quota. */
  readonly probe: boolean;
}

/** A window that headers report: the requests left until its reset. */
export interface Window {
  readonly limit?: number | undefined;
  readonly remaining: number;
  readonly resetAt: number;
  /** The earliest possible reset: `resetAt` may be too late by at most the time that the response took. */
  readonly resetNotBefore: number;
  readonly reportedAt: number;
  /** The number of the record that last described it. */
  readonly seq: number;
}

/** Before `until`, no request is sent. */
export interface Block {
  readonly until: number;
  readonly reason: BlockReason;
  readonly since: number;
  /** Consecutive refusals; those of requests in flight together count as one. */
  readonly refusals: number;
  /** The number of the record that began or last extended it. */
  readonly seq: number;
}

/** Times are epoch milliseconds by the log's clock. */
export interface KeyState {
  /** The time and the number of the last record. */
  time: number;
  seq: number;
  tickets: Record<string, Ticket>;
  /** When requests were lost: each counts until the response to a request that was sent later shows the remaining quota. */
  unanswered: number[];
  /** When the last request whose response showed the remaining quota was sent; this quota includes all requests lost before. */
  countedUntil: number;
  window?: Window | undefined;
  /** The last window whose reset was more than an hour ahead: the daily one, for display only. */
  daily?: Window | undefined;
  block?: Block | undefined;
  /** Whether the quota is unknown: no success, or error with a quota, since the start or the last refusal. */
  needsProbe: boolean;
  /** The maximum number of requests in flight; only the integer part counts. */
  concurrency: number;
  /** Whether no window explained a refusal: from then on, an open window alone does not permit a request. */
  hasHiddenLimit: boolean;
}

export function initialState(): KeyState {
  const unknown = { window: undefined, daily: undefined, block: undefined };
  const requests = { time: 0, seq: 0, tickets: {}, unanswered: [], countedUntil: 0 };
  return { ...unknown, ...requests, needsProbe: true, concurrency: 1, hasHiddenLimit: false };
}

/** The block at `t`, if it has not ended. */
export function activeBlock({ block }: KeyState, t: number): Block | undefined {
  return block && t < block.until ? block : undefined;
}

/** Whether a request was sent after record number `seq`; false if its ticket had expired or is in another log. */
export function isSentAfter({ seq }: { readonly seq: number }, ticket: Ticket | undefined): boolean {
  return ticket !== undefined && ticket.seq > seq;
}

/** The requests whose responses others wait for; the process of an overdue one may have been killed or stopped. */
export function awaitedTickets({ tickets }: KeyState, t: number): readonly Ticket[] {
  return Object.values(tickets).filter(({ overdueAt }) => t <= overdueAt);
}
