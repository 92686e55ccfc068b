// The ledger as a pure fold: records in, state out. Whether a ticket is granted depends on the records before it alone.
//
// The constants in this folder are part of the format: whoever changes one changes the ledger's file name too.
import type { LogFormat } from '../append-log/log.ts';
import { admit } from './admission.ts';
import { applyResponse, decrementUnreported, settleOtherWindow } from './apply-response.ts';
import { applyBlock } from './block.ts';
import { stepClock } from './clock-step.ts';
import type { LedgerRecord, Observation, TicketEnd } from './ledger-record.ts';
import { parseRecord } from './ledger-record.ts';
import type { LedgerState, Ticket } from './ledger-state.ts';
import { initialState } from './ledger-state.ts';

const USERS_KEPT = 50;
const USER_LIFE_MS = 60_000;
const DEBTS_KEPT = 2000;

/** The ledger's records as the log folds them. */
export const ledgerFormat: LogFormat<LedgerState> = {
  initial: initialState,
  apply(state, text) {
    const record = parseRecord(text);
    if (record) applyRecord(state, record);
  },
  *snapshot(state) {
    yield `S ${JSON.stringify({ ...state, tickets: [...state.tickets], users: [...state.users] })}`;
  },
};

function applyRecord(state: LedgerState, record: LedgerRecord): void {
  if (record.kind === 'snapshot') {
    // It stands at the head of a generation, and nowhere else.
    if (state.seq === 0) restore(state, record.json);
    return;
  }
  state.seq++;
  if (record.kind === 'clock') {
    stepClock(state, record.at);
    return;
  }
  state.time = Math.max(state.time, record.at);
  expireTickets(state);
  if (record.kind === 'forget') forget(state);
  else if (record.kind === 'ticket') takeTicket(state, record);
  else if (record.kind === 'reply') observe(state, record.id, record.observation);
  else closeTicket(state, record.id, record.how);
}

function closeTicket(state: LedgerState, id: string, how: TicketEnd): void {
  if (!state.tickets.delete(id)) return;
  if (how !== 'unsent') owe(state);
  else for (const window of [state.short, state.long]) if (window) window.granted = Math.max(0, window.granted - 1);
}

function takeTicket(state: LedgerState, record: Extract<LedgerRecord, { kind: 'ticket' }>): void {
  if (state.tickets.has(record.id)) return;
  const admission = admit(state, state.time, record.rest);
  if (!admission.granted) return;
  const { id, pid, start, host, leaseMs } = record;
  const expires = state.time + leaseMs;
  state.tickets.set(id, { seq: state.seq, at: state.time, expires, pid, start, host, role: admission.role });
  for (const window of [state.short, state.long]) if (window) window.granted++;
  const user = `${host}:${pid}`;
  state.users.delete(user);
  state.users.set(user, state.time);
  for (const [name, at] of state.users) {
    if (state.users.size <= USERS_KEPT && at >= state.time - USER_LIFE_MS) break;
    state.users.delete(name);
  }
}

function expireTickets(state: LedgerState): void {
  for (const [id, ticket] of state.tickets) {
    if (state.time <= ticket.expires) continue;
    state.tickets.delete(id);
    owe(state);
  }
}

function owe(state: LedgerState): void {
  state.unconfirmed.push(state.seq);
  if (state.unconfirmed.length > DEBTS_KEPT) state.unconfirmed.shift();
}

function observe(state: LedgerState, id: string, seen: Observation): void {
  const ticket = state.tickets.get(id);
  state.tickets.delete(id);
  const slot = applyResponse(state, seen, ticket);
  if (ticket) {
    // What became of requests lost before this one was granted is in the number this one brought.
    if (slot) {
      const open = state.unconfirmed.filter((debt) => debt > ticket.seq);
      settleOtherWindow(state, slot, state.unconfirmed.length - open.length);
      state.unconfirmed = open;
    }
    if (seen.status !== 429) decrementUnreported(state, slot);
  }
  if (seen.status === 429) {
    applyBlock(state, seen, ticket, slot && state[slot]);
    return;
  }
  if (state.block && (!ticket || ticket.seq < state.block.lifted)) return;
  state.block = undefined;
  state.verified = true;
}

// What is in flight is a fact of now and stays; all that replies ever said goes.
function forget(state: LedgerState): void {
  const { time, seq, tickets } = state;
  Object.assign(state, initialState(), { time, seq, tickets });
}

function restore(state: LedgerState, json: string): void {
  try {
    const { tickets, users, ...rest } = JSON.parse(json) as Omit<LedgerState, 'tickets' | 'users'> & {
      tickets: [string, Ticket][];
      users: [string, number][];
    };
    Object.assign(state, initialState(), rest, { tickets: new Map(tickets), users: new Map(users) });
  } catch {
    // A snapshot of another hand: the state before it stands.
  }
}
