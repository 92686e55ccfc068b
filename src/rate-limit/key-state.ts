// The state of one key, which all processes share. It is plain JSON and its own snapshot.
import type { Concurrency } from './concurrency.ts';
import { initialConcurrency } from './concurrency.ts';
import type { BlockReason } from './ledger-record.ts';
import type { Window } from './window.ts';

export interface Ticket {
  /** The number of its record, which orders requests and responses. */
  readonly seq: number;
  readonly at: number;
  /** Until then other requests wait for its response. */
  readonly overdueAt: number;
  /** Until then its request may be sent, and its response may arrive. */
  readonly expires: number;
  readonly pid: number;
  readonly start: string;
  readonly host: string;
  /** Whether it was sent alone, to learn what is left. */
  readonly probe: boolean;
}

/** After a refusal no request is sent before `until`. */
export interface Block {
  readonly until: number;
  readonly reason: BlockReason;
  readonly since: number;
  readonly refusals: number;
  /** The number of the refusal that began or last extended it: requests granted earlier were refused together with it. */
  readonly seq: number;
}

/** Times are epoch milliseconds by our clock. */
export interface KeyState {
  time: number;
  seq: number;
  tickets: Record<string, Ticket>;
  /** When requests were lost: each counts until the response to a request that was sent later shows what is left. */
  unanswered: number[];
  /** When the last request was sent whose response showed what is left: that number includes all requests lost before. */
  countedUntil: number;
  window?: Window | undefined;
  /** The last window whose reset was more than an hour ahead: the daily one, for display only. */
  daily?: Window | undefined;
  block?: Block | undefined;
  /** Whether no request has succeeded since the start or the last refusal, so nothing is known of what is left. */
  needsProbe: boolean;
  /** The last limit that was reported, and when. */
  reported?: { readonly limit: number | undefined; readonly at: number } | undefined;
  concurrency: Concurrency;
}

const LONG_AGO = -8.64e15;

export function initialState(): KeyState {
  const unknown = { window: undefined, daily: undefined, block: undefined, reported: undefined };
  const requests = { time: LONG_AGO, seq: 0, tickets: {}, unanswered: [], countedUntil: LONG_AGO };
  return { ...unknown, ...requests, needsProbe: true, concurrency: initialConcurrency() };
}

/** The block at `t`, if it has not ended. */
export function activeBlock({ block }: KeyState, t: number): Block | undefined {
  return block && t < block.until ? block : undefined;
}

/** The requests whose responses others wait for; the process of an overdue one was killed or stopped. */
export function awaitedTickets({ tickets }: KeyState, t: number): readonly Ticket[] {
  return Object.values(tickets).filter(({ overdueAt }) => t <= overdueAt);
}
