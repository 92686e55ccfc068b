// The ledger as a pure reducer: records in, state out. Whether a ticket is granted depends on the records before it alone.
import type { LogFormat } from '../append-log/log.ts';
import type { Admission } from './admission.ts';
import { admit } from './admission.ts';
import { applyResponse, decrementUnreported, dropRefuted, settleOtherWindow } from './apply-response.ts';
import { nextBlock } from './block.ts';
import type { LedgerRecord, Observation, TicketEnd } from './ledger-record.ts';
import { parseRecord } from './ledger-record.ts';
import type { LedgerState } from './ledger-state.ts';
import { initialState, moveTimesBack, offsetLo } from './ledger-state.ts';
import { paceGranted, pacePassed, paceRefused } from './pace.ts';
import { RULES } from './rules.ts';
import { formatSnapshot, parseSnapshot } from './snapshot.ts';

/** The ledger's records as the log reduces them. A ticket's record comes to its admission. */
export const ledgerFormat: LogFormat<LedgerState, Admission | undefined> = {
  initial: initialState,
  apply(state, text) {
    const record = parseRecord(text);
    if (record) return reduce(state, record);
    // A snapshot counts at the head of a generation only.
    if (state.seq === 0) Object.assign(state, parseSnapshot(text));
    return undefined;
  },
  *snapshot(state) {
    yield formatSnapshot(state);
  },
};

function reduce(state: LedgerState, record: LedgerRecord): Admission | undefined {
  state.seq++;
  if (record.kind === 'clock') {
    moveTimesBack(state, record.at);
    return undefined;
  }
  state.time = Math.max(state.time, record.at);
  expireTickets(state);
  if (record.kind === 'ticket') return takeTicket(state, record);
  if (record.kind === 'response') observe(state, record.id, record.seen);
  else if (record.kind === 'closed') closeTicket(state, record.id, record.how);
  else forget(state);
  return undefined;
}

function takeTicket(state: LedgerState, record: Extract<LedgerRecord, { kind: 'ticket' }>): Admission | undefined {
  if (state.tickets.has(record.id)) return undefined;
  const admission = admit(state, state.time, record.bulk);
  if (!admission.granted) return admission;
  const { id, pid, start, host } = record;
  const expires = state.time + Math.min(Math.max(0, record.leaseMs), RULES.longestLeaseMs);
  const { seq, time: at } = state;
  state.tickets.set(id, { seq, at, expires, pid, start, host, canary: admission.canary });
  for (const window of [state.short, state.long]) if (window) window.granted++;
  state.pace = paceGranted(state.pace, at);
  return admission;
}

function closeTicket(state: LedgerState, id: string, how: TicketEnd): void {
  if (!state.tickets.delete(id)) return;
  if (how !== 'unsent') noteUnconfirmed(state);
  else for (const window of [state.short, state.long]) if (window) window.granted = Math.max(0, window.granted - 1);
}

function expireTickets(state: LedgerState): void {
  for (const [id, ticket] of state.tickets) {
    if (state.time <= ticket.expires) continue;
    state.tickets.delete(id);
    noteUnconfirmed(state);
  }
}

function noteUnconfirmed(state: LedgerState): void {
  state.unconfirmed.push(state.seq);
  if (state.unconfirmed.length > RULES.unconfirmedKept) state.unconfirmed.shift();
}

function observe(state: LedgerState, id: string, seen: Observation): void {
  const ticket = state.tickets.get(id);
  state.tickets.delete(id);
  const slot = applyResponse(state, seen, ticket);
  if (ticket && slot) {
    // What became of requests lost before this one was granted is included in what this one reports.
    const open = state.unconfirmed.filter((seq) => seq > ticket.seq);
    settleOtherWindow(state, slot, state.unconfirmed.length - open.length);
    state.unconfirmed = open;
  }
  if (seen.refused) {
    refuse(state, seen, ticket?.seq);
    return;
  }
  const { block } = state;
  const lifts = !block || (ticket !== undefined && ticket.seq > block.liftedBy);
  if (block && lifts) dropRefuted(state, slot);
  if (ticket) decrementUnreported(state, slot);
  if (!lifts) return;
  if (seen.status < 500) state.pace = pacePassed(state.pace, seen.at);
  if (block) state.lastRow = { consecutive429s: block.consecutive429s, until: block.until };
  state.block = undefined;
  state.verified = true;
}

function refuse(state: LedgerState, seen: Observation, ticketSeq: number | undefined): void {
  const { block, isNew } = nextBlock(state.block, state.lastRow, seen, state.seq, ticketSeq, offsetLo(state));
  state.block = block;
  state.verified = false;
  // A window that is used up explains the refusal: then the rate is not to blame.
  const announced = seen.remaining === 0 && seen.reset !== undefined;
  const statedMs = seen.waitFrom === 'retry-after' ? (seen.waitMs ?? 0) : 0;
  if (isNew && !announced) state.pace = paceRefused(state.pace, seen.at, statedMs);
}

// What is in flight is a fact of now and stays; everything learned from responses is dropped.
function forget(state: LedgerState): void {
  const { time, seq, tickets } = state;
  Object.assign(state, initialState(), { time, seq, tickets });
}
