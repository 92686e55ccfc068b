// The ledger's records as text: one line each, read back strictly. What does not match counts for nobody.
import type { WindowReset } from './window.ts';

/** Why nobody may send: what the 429 gave, or `spent`: refused again and again, so the day's quota is used up or the key banned. */
export type BlockReason = 'retry-after' | 'reset' | 'backoff' | 'spent';

/** What a reply said, as far as the ledger cares. Times are epoch milliseconds by our clock. */
export interface Observation {
  /** When the reply's head came. */
  readonly at: number;
  readonly status: number;
  readonly limit: number | undefined;
  readonly remaining: number | undefined;
  readonly reset: WindowReset | undefined;
  /** Bounds of (service's clock - ours), milliseconds. */
  readonly offset: { readonly lo: number; readonly hi: number } | undefined;
  /** On 429: the wait its headers give, milliseconds. */
  readonly waitMs: number | undefined;
  readonly waitFrom: Exclude<BlockReason, 'spent'>;
  /** On 429: whether its request has no try left. */
  readonly lastAttempt: boolean;
  /** A draw in 0..999 that the jitter comes from, written down so that all processes wait the same. */
  readonly jitterDraw: number;
}

/** How a ticket ended without a reply: nothing was sent, it was sent and lost, or its process died. */
export type TicketEnd = 'unsent' | 'lost' | 'dead';

/** One record. */
export type LedgerRecord =
  | {
      kind: 'ticket';
      at: number;
      id: string;
      pid: number;
      start: number;
      host: string;
      leaseMs: number;
      /** One of many: how many of them have no ticket yet, this one included; 0 where nobody knows. Undefined: a single one. */
      rest: number | undefined;
    }
  | { kind: 'reply'; at: number; id: string; observation: Observation }
  | { kind: 'closed'; at: number; id: string; how: TicketEnd }
  | { kind: 'clock'; at: number }
  | { kind: 'forget'; at: number }
  | { kind: 'snapshot'; json: string };

const TICKET = /^T (\d{1,15}) (\w{1,40}) (\d{1,10}) (\d{1,15}) (\w{1,40}) (\d{1,15})(?: (\d{1,10}))?$/;
const REPLY =
  /^O (\d{1,15}) (\w{1,40}) (\d{3}) (\d{1,15}|-) (\d{1,15}|-) (?:([sl])(\d{1,15})\/(\d{1,4})|-) (?:(-?\d{1,15}):(-?\d{1,15})|-) (\d{1,15}|-) (retry-after|reset|backoff) ([01]) (\d{1,3})$/;
const CLOSED = /^X (\d{1,15}) (\w{1,40}) (unsent|lost|dead)$/;
const LARGEST = 999_999_999_999_999;
const PLAIN = /^([CF]) (\d{1,15})$/;

/**
 * @param record a record
 * @returns its line
 */
export function formatRecord(record: LedgerRecord): string {
  switch (record.kind) {
    case 'ticket':
      return `T ${record.at} ${record.id} ${record.pid} ${record.start} ${record.host} ${whole(record.leaseMs)}${record.rest === undefined ? '' : ` ${record.rest}`}`;
    case 'reply':
      return formatReply(record.id, record.observation);
    case 'closed':
      return `X ${record.at} ${record.id} ${record.how}`;
    case 'clock':
      return `C ${record.at}`;
    case 'forget':
      return `F ${record.at}`;
    case 'snapshot':
      return `S ${record.json}`;
  }
}

function formatReply(id: string, seen: Observation): string {
  const reset = seen.reset
    ? `${seen.reset.clock === 'server' ? 's' : 'l'}${whole(seen.reset.at)}/${seen.reset.resolution}`
    : '-';
  const offset = seen.offset ? `${whole(seen.offset.lo)}:${whole(seen.offset.hi)}` : '-';
  const numbers = `${seen.status} ${orNone(seen.limit)} ${orNone(seen.remaining)} ${reset} ${offset}`;
  return `O ${whole(seen.at)} ${id} ${numbers} ${orNone(seen.waitMs)} ${seen.waitFrom} ${seen.lastAttempt ? 1 : 0} ${seen.jitterDraw}`;
}

const orNone = (value: number | undefined): string => (value === undefined ? '-' : whole(value));

// A record that its own grammar does not read counts for nobody, a 429 in it included: whatever came is written as digits.
function whole(value: number): string {
  return String(Math.max(-LARGEST, Math.min(LARGEST, Math.ceil(value))));
}

/**
 * @param text a line of the log
 * @returns the record; undefined where it is none of ours
 */
export function parseRecord(text: string): LedgerRecord | undefined {
  switch (text[0]) {
    case 'T':
      return parseTicket(text);
    case 'O':
      return parseReply(text);
    case 'X': {
      const match = CLOSED.exec(text);
      return match
        ? { kind: 'closed', at: Number(match[1]), id: match[2] ?? '', how: match[3] as TicketEnd }
        : undefined;
    }
    case 'S':
      return { kind: 'snapshot', json: text.slice(2) };
    default: {
      const match = PLAIN.exec(text);
      return match ? { kind: match[1] === 'C' ? 'clock' : 'forget', at: Number(match[2]) } : undefined;
    }
  }
}

function parseTicket(text: string): LedgerRecord | undefined {
  const match = TICKET.exec(text);
  if (!match) return undefined;
  const [, at, id = '', pid, start, host = '', leaseMs, rest] = match;
  return {
    kind: 'ticket',
    at: Number(at),
    id,
    pid: Number(pid),
    start: Number(start),
    host,
    leaseMs: Number(leaseMs),
    rest: optional(rest),
  };
}

function parseReply(text: string): LedgerRecord | undefined {
  const match = REPLY.exec(text);
  if (!match) return undefined;
  const [
    ,
    at,
    id = '',
    status,
    limit,
    remaining,
    clock,
    resetAt,
    resolution,
    lo,
    hi,
    waitMs,
    waitFrom,
    last,
    jitterDraw,
  ] = match;
  const observation: Observation = {
    at: Number(at),
    status: Number(status),
    limit: optional(limit),
    remaining: optional(remaining),
    reset:
      clock === undefined
        ? undefined
        : { at: Number(resetAt), clock: clock === 's' ? 'server' : 'local', resolution: Number(resolution) },
    offset: lo === undefined ? undefined : { lo: Number(lo), hi: Number(hi) },
    waitMs: optional(waitMs),
    waitFrom: waitFrom as Observation['waitFrom'],
    lastAttempt: last === '1',
    jitterDraw: Number(jitterDraw),
  };
  return { kind: 'reply', at: Number(at), id, observation };
}

function optional(text: string | undefined): number | undefined {
  return text === undefined || text === '-' ? undefined : Number(text);
}
