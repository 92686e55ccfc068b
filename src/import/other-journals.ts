// The journals beside one import's own: read without holding them, found by file, marked where another takes their place.
import { closeSync, existsSync, openSync, readdirSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { FileLog } from '../append-log/file-log.ts';
import { PetstoreError } from '../errors.ts';
import { escapeControls } from '../escape.ts';
import { alreadyRunning, isRunning } from './journal-lock.ts';
import type { JournalOptions } from './journal-paths.ts';
import { currentProcessProbe, journalDir, journalName } from './journal-paths.ts';
import type { JournalState, RowEntry } from './journal-state.ts';
import { journalFormat } from './journal-state.ts';

/**
 * Reads a journal without beginning or changing it.
 * @param options which journal
 * @returns its entries by row; none where there is no such journal
 */
export function readJournal(options: JournalOptions): ReadonlyMap<number, RowEntry> {
  const name = journalName(options.digest);
  const dir = journalDir(options);
  return namesIn(dir).includes(name) ? withLog(dir, name, (log) => log.refresh().rows) : new Map();
}

/**
 * Finds the categories that other imports into the same service know as theirs.
 * @param options this import's journal
 * @returns their ids in digits
 */
export function ownedElsewhere(options: JournalOptions): ReadonlySet<string> {
  const owned = new Set<string>();
  const dir = journalDir(options);
  for (const name of namesIn(dir)) {
    if (name === journalName(options.digest)) continue;
    for (const id of withLog(dir, name, (log) => log.refresh().owners).keys()) owned.add(id);
  }
  return owned;
}

/** An import of the same file with other rows, which created something and did not finish. */
export interface StaleImport {
  readonly rows: number;
  readonly created: number;
}

/**
 * Finds out whether a file was changed in the middle of its import (fault E10).
 * @param options the journal of the rows the file holds now
 * @param source the file's real path
 * @returns the import it began as; undefined where there is none, or it finished
 */
export function staleImportOf(options: JournalOptions, source: string): StaleImport | undefined {
  for (const name of othersOf(options, source)) {
    const { rows, head, finished } = withLog(journalDir(options), name, (log) => log.refresh());
    const sent = [...rows.values()].filter(({ status }) => status !== 'open' && status !== 'rejected');
    if (!finished && sent.length > 0) return { rows: head?.rows ?? 0, created: sent.filter(({ id }) => id).length };
  }
  return undefined;
}

/**
 * Notes in the journals of the same file with other rows that they need not be finished.
 * @param options the journal that takes their place
 * @param source the file's real path
 * @throws PetstoreError `usage` where a run is at one of them: its rows would be created twice
 */
export function supersede(options: JournalOptions, source: string): void {
  const life = options.life ?? currentProcessProbe();
  const others = othersOf(options, source);
  for (const name of others) {
    const { holder } = withLog(journalDir(options), name, (log) => log.refresh());
    if (holder && isRunning(holder, life, options.clock)) throw alreadyRunning(holder, 'this file, as it was before,');
  }
  for (const name of others) {
    withLog(journalDir(options), name, (log) => {
      if (!log.refresh().finished) log.append(JSON.stringify(['superseded']));
    });
  }
}

function othersOf(options: JournalOptions, source: string): string[] {
  const dir = journalDir(options);
  const own = journalName(options.digest);
  return namesIn(dir).filter(
    (name) => name !== own && filesOf(dir, name).some((path) => readable(path, () => beginsWith(path, source))),
  );
}

function withLog<T>(dir: string, name: string, use: (log: FileLog<JournalState>) => T): T {
  return readable(join(dir, `${name}.*.log`), () => usingLog(dir, name, use));
}

// What another import sent may be what this one is about to look for: without its journal nothing can be decided.
function readable<T>(path: string, use: () => T): T {
  try {
    return use();
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (error instanceof PetstoreError || typeof code !== 'string') throw error;
    throw new PetstoreError(
      'storage',
      `the journal of another import cannot be used (${code}): ${escapeControls(path)}`,
      {
        hint: 'make it readable and writable for you, or remove it where that import is of no concern any more',
        cause: error,
      },
    );
  }
}

function usingLog<T>(dir: string, name: string, use: (log: FileLog<JournalState>) => T): T {
  const log = new FileLog(journalFormat, { dir, name, rotateAtBytes: Number.MAX_SAFE_INTEGER, durable: true });
  try {
    return use(log);
  } finally {
    log.close();
  }
}

function namesIn(dir: string): string[] {
  if (!existsSync(dir)) return [];
  return [...new Set(readdirSync(dir).flatMap((entry) => /^([0-9a-f]{32})\.\d+\.log$/.exec(entry)?.[1] ?? []))];
}

function filesOf(dir: string, name: string): string[] {
  return readdirSync(dir)
    .filter((entry) => entry.startsWith(`${name}.`) && entry.endsWith('.log'))
    .map((entry) => join(dir, entry));
}

// The head stands at the beginning; only a journal of the same file is worth reading in full.
function beginsWith(path: string, source: string): boolean {
  const fd = openSync(path, 'r');
  try {
    const start = Buffer.alloc(65_536);
    const length = readSync(fd, start, 0, start.length, 0);
    return start.toString('utf8', 0, length).includes(JSON.stringify({ source }).slice(1, -1));
  } finally {
    closeSync(fd);
  }
}
