// What the journal of a base URL says, reduced from its records (docs/import.md): the lock, and by account the categories
// that a list showed, those that this program created, and its creates whose outcome is not known.
import type { LogFormat } from '../append-log/log.ts';
import { DamagedRecordError } from '../append-log/log.ts';
import type { ProcessRef } from '../append-log/process-liveness.ts';
import type { Check } from '../append-log/record-shape.ts';
import { isBoolean, isCount, isText, listOf, optional, pair, shape, tryParseJson } from '../append-log/record-shape.ts';

/** A create that was sent and whose outcome is not known. */
export interface Doubt {
  readonly name: string;
  /** How many categories were known before it was sent: it may be any later one. */
  readonly known: number;
  /** The service may be at it for longer than usual. */
  readonly slow?: true;
}

/** A category that this program created: by which attempt, the name that was sent, and the label of what came back. */
export interface Creation {
  readonly attempt: string;
  readonly name: string;
  readonly label: string;
}

/** One set of categories at a base URL; another account has another, and so has a service whose data was reset. */
export interface Account {
  /** What lists showed before something was sent, in the order of appearance: by id its number and label. */
  readonly known: Map<string, { readonly at: number; readonly label: string }>;
  readonly created: Map<string, Creation>;
  /** By attempt. */
  readonly doubts: Map<string, Doubt>;
}

/** The run that holds the lock. */
export interface Holder extends ProcessRef {
  readonly run: string;
  /** Grows with every record of the run: it lives as long as this changes. */
  readonly beats: number;
}

export interface JournalState {
  lock: Holder | undefined;
  readonly accounts: Account[];
  /** The account of the last run, as its index. */
  current: number;
}

/** A category in a record: its id in digits, and a label by which it is recognized. */
export type Labelled = readonly [id: string, label: string];

/** One record. A run's records count while it holds the lock; a 201 (`created`) always counts. */
export type JournalRecord =
  | readonly ['acquire', run: string, ProcessRef]
  | readonly ['expire', run: string, beats: number]
  | readonly ['beat' | 'release', run: string]
  | readonly ['account', run: string, index: number]
  | readonly ['known', run: string, readonly Labelled[]]
  | readonly ['send', run: string, attempt: string, name: string]
  | readonly ['created' | 'found', run: string, attempt: string, id: string, label: string]
  | readonly ['slow' | 'absent', run: string, attempt: string]
  | readonly ['snapshot', '', Snapshot];

interface Snapshot {
  readonly lock?: Holder | undefined;
  readonly current: number;
  readonly accounts: readonly {
    readonly known: readonly Labelled[];
    readonly created: readonly (readonly [string, Creation])[];
    readonly doubts: readonly (readonly [string, Doubt])[];
  }[];
}

const isId: Check = (value) => typeof value === 'string' && /^-?\d{1,19}$/.test(value);
const PROCESS = { pid: isCount, start: isText, host: isText };
const LABELLED = listOf(pair(isId, isText));
const ACCOUNT = shape({
  known: LABELLED,
  created: listOf(pair(isId, shape({ attempt: isText, name: isText, label: isText }))),
  doubts: listOf(pair(isText, shape({ name: isText, known: isCount, slow: optional(isBoolean) }))),
});
/** What follows the kind and the run. */
const SHAPES: Readonly<Record<JournalRecord[0], readonly Check[]>> = {
  acquire: [shape(PROCESS)],
  expire: [isCount],
  beat: [],
  release: [],
  account: [isCount],
  known: [LABELLED],
  send: [isText, isText],
  created: [isText, isId, isText],
  found: [isText, isId, isText],
  slow: [isText],
  absent: [isText],
  snapshot: [
    shape({
      lock: optional(shape({ ...PROCESS, run: isText, beats: isCount })),
      current: isCount,
      accounts: listOf(ACCOUNT),
    }),
  ],
};

export const journalFormat: LogFormat<JournalState> = {
  initial: () => ({ lock: undefined, accounts: [newAccount()], current: 0 }),
  /** @throws DamagedRecordError where the record is not valid: it must not decide what is sent */
  apply: (state, text) => apply(state, parseRecord(text)),
  *snapshot({ lock, current, accounts }) {
    const copies = accounts.map(({ known, created, doubts }) => ({
      known: [...known].map(([id, { label }]): Labelled => [id, label]),
      created: [...created],
      doubts: [...doubts],
    }));
    yield JSON.stringify(['snapshot', '', { lock, current, accounts: copies }] satisfies JournalRecord);
  },
};

export function newAccount(): Account {
  return { known: new Map(), created: new Map(), doubts: new Map() };
}

function parseRecord(text: string): JournalRecord {
  const value = tryParseJson(text);
  const [kind, run, ...fields]: readonly unknown[] = Array.isArray(value) ? value : [];
  const checks = typeof kind === 'string' && Object.hasOwn(SHAPES, kind) ? SHAPES[kind as JournalRecord[0]] : undefined;
  if (!checks || !isText(run) || checks.length !== fields.length || !checks.every((check, at) => check(fields[at]))) {
    throw new DamagedRecordError('not a record of an import');
  }
  return value as JournalRecord;
}

function apply(state: JournalState, record: JournalRecord): void {
  const [kind, run] = record;
  const { lock } = state;
  if (kind === 'snapshot') restore(state, record[2]);
  if (kind === 'acquire') state.lock ??= { ...record[2], run, beats: 0 };
  // A 201 proves that the category exists, also when it reaches a run that has lost the lock.
  if (kind === 'created') recordCreated(state, record[2], record[3], record[4]);
  if (!lock || lock.run !== run) return;
  const isFreed = kind === 'release' || (kind === 'expire' && lock.beats === record[2]);
  if (isFreed) state.lock = undefined;
  else if (kind !== 'expire') state.lock = { ...lock, beats: lock.beats + 1 };
  const account = state.accounts[state.current] as Account;
  if (kind === 'account') {
    state.current = Math.min(record[2], state.accounts.length);
    state.accounts[state.current] ??= newAccount();
  } else if (kind === 'known') addKnown(account, record[2]);
  else if (kind === 'send') account.doubts.set(record[2], { name: record[3], known: account.known.size });
  else if (kind === 'found') settle(account, record[2], record[3], record[4]);
  else if (kind === 'absent') account.doubts.delete(record[2]);
  else if (kind === 'slow') {
    const doubt = account.doubts.get(record[2]);
    if (doubt) account.doubts.set(record[2], { ...doubt, slow: true });
  }
}

function addKnown({ known }: Account, categories: readonly Labelled[]): void {
  for (const [id, label] of categories) if (!known.has(id)) known.set(id, { at: known.size, label });
}

function settle({ created, doubts }: Account, attempt: string, id: string, label: string): void {
  const { name } = doubts.get(attempt) ?? {};
  if (name !== undefined && doubts.delete(attempt)) created.set(id, { attempt, name, label });
}

// An id that was there before, or that two responses name, proves nothing: each of these creates is in doubt.
function recordCreated(state: JournalState, attempt: string, id: string, label: string): void {
  const account = state.accounts.find(({ doubts }) => doubts.has(attempt));
  if (!account || account.known.has(id)) return;
  const other = account.created.get(id);
  if (other) {
    account.created.delete(id);
    account.doubts.set(other.attempt, { name: other.name, known: account.known.size });
    addKnown(account, [[id, label]]);
  } else settle(account, attempt, id, label);
}

function restore(state: JournalState, { lock, current, accounts }: Snapshot): void {
  const restored = accounts.map(({ known, created, doubts }): Account => {
    const account = { known: new Map(), created: new Map(created), doubts: new Map(doubts) };
    addKnown(account, known);
    return account;
  });
  Object.assign(state, { lock, current, accounts: restored });
}
