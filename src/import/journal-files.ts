// The journals of one API key and base URL: one append-only log per import, in a folder of their own.
import { createHash } from 'node:crypto';
import { closeSync, existsSync, openSync, readdirSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { FileLog } from '../append-log/file-log.ts';
import type { LogFs } from '../append-log/generations.ts';
import { fsyncDir } from '../append-log/generations.ts';
import { DamagedRecordError } from '../append-log/log.ts';
import { PetstoreError } from '../errors.ts';
import { escapeControls } from '../escape.ts';
import type { JournalState } from './journal-state.ts';
import { journalFormat } from './journal-state.ts';

const ROTATE_AT_BYTES = 8 * 1024 * 1024;
const HEADER_BYTES = 64 * 1024;
const NAME_LENGTH = 32;
const FILE = /^[0-9a-f]{32}\.\d+\.log$/;

/** A journal's log. A store on another machine answers with promises. */
export interface JournalLog {
  /** How messages name the journal. */
  readonly label: string;
  /** Changes where the latest records may have been lost: a server was restarted, or another one took its place. */
  readonly epoch?: string | undefined;
  last(): JournalState;
  refresh(): JournalState | Promise<JournalState>;
  append(record: string): JournalState | Promise<JournalState>;
  /** Resolves once every record appended so far survives a power failure. */
  sync(): Promise<void>;
  /**
   * The newest state that can be known without waiting, for the last look before a request is sent.
   * @throws PetstoreError `storage` where the journal has vanished
   */
  lastLook(): JournalState;
  close(): void;
}

/** Where journals are kept. Its methods throw PetstoreError `storage` where a journal cannot be used. */
export interface JournalStore {
  names(): readonly string[] | Promise<readonly string[]>;
  /**
   * Names of journals whose import may have read this file.
   * @param source as in JournalHeader
   */
  namesOf(source: string): readonly string[] | Promise<readonly string[]>;
  /** @param mode `run`: the journal of this run, created where it is missing; `other`: only to be read or marked */
  open(name: string, mode: 'run' | 'other'): JournalLog | Promise<JournalLog>;
}

/** @returns a journal's name: the same rows have the same journal */
export function journalName(digest: string): string {
  return digest.slice(0, NAME_LENGTH);
}

/**
 * @param identity what the import writes to: the base URL, or the sandbox's data
 * @param key the API key: another key may see other data
 */
export function fileJournals(stateDir: string, identity: string, key: string, fs?: LogFs): JournalStore {
  const folder = createHash('sha256').update(`${identity}\0${key}`).digest('hex').slice(0, 32);
  const dir = join(stateDir, 'imports', folder);
  const files = (): string[] => (existsSync(dir) ? readdirSync(dir).filter((file) => FILE.test(file)) : []);
  const namesOf = (found: readonly string[]): string[] => [...new Set(found.map((file) => file.slice(0, NAME_LENGTH)))];
  return {
    names: () => namesOf(files()),
    // The header comes first; only a journal of this file is worth reading in full.
    namesOf: (source) =>
      namesOf(
        files().filter((file) => guarded(escapeControls(join(dir, file)), () => beginsWith(join(dir, file), source))),
      ),
    open: (name, mode) => openJournal(dir, name, mode, fs),
  };
}

function beginsWith(path: string, source: string): boolean {
  const fd = openSync(path, 'r');
  try {
    const start = Buffer.alloc(HEADER_BYTES);
    const length = readSync(fd, start, 0, start.length, 0);
    return start.toString('utf8', 0, length).includes(source);
  } finally {
    closeSync(fd);
  }
}

function openJournal(dir: string, name: string, mode: 'run' | 'other', fs: LogFs | undefined): JournalLog {
  const label = labelOf(dir, name);
  const rotateAtBytes = mode === 'run' ? ROTATE_AT_BYTES : Number.MAX_SAFE_INTEGER;
  const options = { dir, name, rotateAtBytes, durable: true, rejectForeign: true, ...(fs && { fs }) };
  const log = guarded(label, () => new FileLog(journalFormat, options));
  if (mode === 'run') guarded(label, () => fsyncDir(dir, 2));
  const refresh = (): JournalState => guarded(label, () => log.refresh());
  return {
    label,
    last: () => log.last(),
    refresh,
    append(record) {
      guarded(label, () => log.append(record));
      return log.last();
    },
    async sync() {
      await log.sync().catch((error: unknown) => {
        throw storageError(error, label);
      });
    },
    lastLook() {
      const state = refresh();
      if (guarded(label, () => log.isLinked())) return state;
      throw new PetstoreError('storage', `the import's journal was deleted: ${label}`, {
        hint: 'run the import again with --skip-existing: without its journal, rows that exist are not recognized',
      });
    },
    close: () => log.close(),
  };
}

function labelOf(dir: string, name: string): string {
  return escapeControls(join(dir, `${name}.*.log`));
}

function guarded<T>(label: string, use: () => T): T {
  try {
    return use();
  } catch (error) {
    throw storageError(error, label);
  }
}

function storageError(error: unknown, label: string): unknown {
  if (error instanceof DamagedRecordError) return damagedJournal(label, error);
  const { code } = error as NodeJS.ErrnoException;
  if (error instanceof PetstoreError || typeof code !== 'string') return error;
  return new PetstoreError('storage', `cannot use the journal of an import (${code}): ${label}`, {
    hint: "check the folder's permissions and free space; without a journal nothing is sent",
    cause: error,
  });
}

/** @param label from `JournalLog` */
export function damagedJournal(label: string, cause?: unknown): PetstoreError {
  return new PetstoreError('storage', `the journal of an import is damaged: ${label}`, {
    hint: 'move it away, then run the import again with --skip-existing; the file was not changed',
    cause,
  });
}
