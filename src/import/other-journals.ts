// The journals of other imports with the same key: which categories are theirs, and which import began as the same file.
import type { LockOptions, ProcessProbe } from './journal.ts';
import { checkRows, currentProcessProbe, expireDeadHolder } from './journal.ts';
import type { JournalLog, JournalStore } from './journal-files.ts';
import type { JournalRecord } from './journal-record.ts';
import type { JournalState } from './journal-state.ts';
import { journalFormat } from './journal-state.ts';

/** @returns the state of a journal, which is neither created nor changed; the initial state where it does not exist */
export async function readJournal(store: JournalStore, name: string, count: number): Promise<JournalState> {
  if (!(await store.names()).includes(name)) return journalFormat.initial();
  return withLog(store, name, async (log) => {
    const state = await log.refresh();
    checkRows(log, count);
    return state;
  });
}

async function withLog<T>(store: JournalStore, name: string, use: (log: JournalLog) => Promise<T>): Promise<T> {
  const log = await store.open(name, 'other');
  try {
    return await use(log);
  } finally {
    log.close();
  }
}

async function stateOf(store: JournalStore, name: string): Promise<JournalState> {
  return withLog(store, name, async (log) => log.refresh());
}

/** What other imports with the same key know at one moment. */
export interface OtherImports {
  /** The ids of the categories they created or found. */
  readonly owned: ReadonlySet<string>;
  /** One entry per request of theirs that may still be answered. */
  readonly inFlight: ReadonlySet<string>;
}

/** @param own the name of this import's journal */
export async function otherImports(store: JournalStore, own: string, processes?: ProcessProbe): Promise<OtherImports> {
  const { isAlive } = processes ?? currentProcessProbe();
  const owned = new Set<string>();
  const inFlight = new Set<string>();
  for (const name of await others(store, own)) {
    const { lock, rows, owners } = await stateOf(store, name);
    for (const id of owners.keys()) owned.add(id);
    if (!lock || isAlive(lock) === 'dead') continue;
    for (const [row, { state, attempts }] of rows) {
      if (state === 'sending') inFlight.add(`${name} ${lock.run} ${row} ${attempts}`);
    }
  }
  return { owned, inFlight };
}

/** An unfinished import of the same file, whose rows were different then. */
interface StaleImport {
  readonly rows: number;
  readonly created: number;
}

/**
 * Detects that a file was changed during its import.
 * @param own the name of the journal of its present rows
 * @param source as in JournalHeader
 */
export async function staleImportOf(
  store: JournalStore,
  own: string,
  source: string,
): Promise<StaleImport | undefined> {
  for (const name of await others(store, own, source)) {
    const { rows, header, finished } = await stateOf(store, name);
    const sent = [...rows.values()].filter(({ state }) => state !== 'pending' && state !== 'failed');
    if (!finished && sent.length > 0) return { rows: header?.rows ?? 0, created: sent.filter(({ id }) => id).length };
  }
  return undefined;
}

/**
 * Records in the unfinished journals of the same file that this import takes their place.
 * @throws PetstoreError `usage` where one of them is running: its rows would be created twice
 */
export async function supersede(store: JournalStore, own: string, source: string, options: LockOptions): Promise<void> {
  for (const name of await others(store, own, source)) {
    await withLog(store, name, async (log) => {
      if ((await log.refresh()).finished) return;
      await expireDeadHolder(log, options, 'an earlier version of this file');
      await log.append(JSON.stringify(['superseded', ''] satisfies JournalRecord));
    });
  }
}

/** @param source undefined: the journals of all files */
async function others(store: JournalStore, own: string, source?: string): Promise<string[]> {
  const names = await (source === undefined ? store.names() : store.namesOf(source));
  return names.filter((name) => name !== own);
}
