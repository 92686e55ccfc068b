// The journal of a base URL, reduced from its records (docs/import.md): the lock and, by account, the categories listed,
// the categories created, and the attempts with an unknown outcome.
import type { LogFormat } from '../append-log/log.ts';
import type { Creation, Holder, JournalRecord, Known, Labeled, UncertainAttempt } from './journal-record.ts';
import { formatRecord, parseRecord } from './journal-record.ts';

/** One set of categories at a base URL; after a reset of the service's data it is another one. */
export interface Account {
  readonly known: Map<string, Known>;
  readonly created: Map<string, Creation>;
  readonly uncertain: Map<string, UncertainAttempt>;
}

const MOST_ACCOUNTS = 20;

export interface JournalState {
  lock: Holder | undefined;
  readonly accounts: Account[];
  /** The index of the last run's account. */
  current: number;
}

export const journalFormat: LogFormat<JournalState> = {
  initial: () => ({ lock: undefined, accounts: [newAccount()], current: 0 }),
  apply: (state, text) => apply(state, parseRecord(text)),
  *snapshot({ lock, current, accounts }) {
    const copies = accounts.map(({ known, created, uncertain }) => ({
      known: [...known],
      created: [...created],
      uncertain: [...uncertain],
    }));
    yield formatRecord(['snapshot', '', { lock, current, accounts: copies }]);
  },
};

export function newAccount(): Account {
  return { known: new Map(), created: new Map(), uncertain: new Map() };
}

function apply(state: JournalState, record: JournalRecord): void {
  const [kind, run] = record;
  const { lock } = state;
  if (kind === 'snapshot') {
    const accounts = record[2].accounts.map(({ known, created, uncertain }) => ({
      known: new Map(known),
      created: new Map(created),
      uncertain: new Map(uncertain),
    }));
    Object.assign(state, record[2], { accounts });
  }
  if (kind === 'acquire') state.lock ??= { ...record[2], run, beats: 0 };
  // A 201 proves that the category exists, even if it reaches a run that has lost the lock.
  if (kind === 'created') recordCreated(state, record[2], record[3], record[4]);
  if (!lock || lock.run !== run) return;
  const isFreed = kind === 'release' || (kind === 'expire' && lock.beats === record[2]);
  if (isFreed) state.lock = undefined;
  else if (kind !== 'expire') state.lock = { ...lock, beats: lock.beats + 1 };
  const account = state.accounts[state.current] as Account;
  if (kind === 'account') {
    state.current = Math.min(record[2], state.accounts.length);
    state.accounts[state.current] ??= newAccount();
    forgetAccount(state);
  } else if (kind === 'known') addKnown(account, record[2]);
  else if (kind === 'send') account.uncertain.set(record[2], { name: record[3], known: account.known.size });
  else if (kind === 'found') settle(account, record[2], record[3], record[4]);
  else if (kind === 'absent') account.uncertain.delete(record[2]);
  else if (kind === 'settled') for (const id of record[2]) forgetCreation(account, id);
  else if (kind === 'deleted') for (const id of record[2]) forgetCategory(account, id);
  else if (kind === 'slow') {
    const attempt = account.uncertain.get(record[2]);
    if (attempt) account.uncertain.set(record[2], { ...attempt, slow: true });
  }
}

// Drops the oldest account, since a service whose data is reset for every test would fill the journal.
function forgetAccount(state: JournalState): void {
  if (state.accounts.length <= MOST_ACCOUNTS) return;
  const at = state.accounts.findIndex(({ uncertain }, index) => uncertain.size === 0 && index !== state.current);
  if (at < 0) return;
  state.accounts.splice(at, 1);
  if (at < state.current) state.current--;
}

// A list has shown the category as it was sent, so only its existence matters from now on.
function forgetCreation(account: Account, id: string): void {
  const { label } = account.created.get(id) ?? {};
  account.created.delete(id);
  if (label !== undefined) addKnown(account, [[id, label]]);
}

// Keeps the number of the category without its label, because later known categories are counted from it.
function forgetCategory({ known, created }: Account, id: string): void {
  created.delete(id);
  const before = known.get(id);
  if (before) known.set(id, { ...before, label: '' });
}

function addKnown({ known }: Account, categories: readonly Labeled[]): void {
  for (const [id, label] of categories) if (!known.has(id)) known.set(id, { at: known.size, label });
}

function settle({ created, uncertain }: Account, attempt: string, id: string, label: string): void {
  const { name } = uncertain.get(attempt) ?? {};
  if (name !== undefined && uncertain.delete(attempt)) created.set(id, { attempt, name, label });
}

// An id that existed before, or that two responses name, proves nothing: each of these creates is uncertain.
function recordCreated(state: JournalState, attempt: string, id: string, label: string): void {
  const account = state.accounts.find(({ uncertain }) => uncertain.has(attempt));
  if (!account || account.known.has(id)) return;
  const other = account.created.get(id);
  if (other) {
    account.created.delete(id);
    account.uncertain.set(other.attempt, { name: other.name, known: account.known.size });
    addKnown(account, [[id, label]]);
  } else settle(account, attempt, id, label);
}
