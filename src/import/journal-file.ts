// The journal of a base URL in a file on this machine.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { FileLog } from '../append-log/file-log.ts';
import type { LogFs } from '../append-log/generations.ts';
import { fsyncDir } from '../append-log/generations.ts';
import { PetstoreError, rephrase } from '../errors.ts';
import { escapeControls } from '../escape.ts';
import { systemReason } from '../system-error.ts';
import type { JournalLog } from './journal.ts';
import { journalFormat } from './journal-state.ts';

const ROTATE_AT_BYTES = 8 * 1024 * 1024;

/**
 * @param identity the target of the import: the base URL, or the sandbox's data
 * @throws PetstoreError `storage`
 */
export function openFileJournal(stateDir: string, identity: string, fs?: LogFs): JournalLog {
  const { dir, name, label } = placeOf(stateDir, identity);
  const guarded = <T>(use: () => T): T => {
    try {
      return use();
    } catch (error) {
      throw storageError(error, label);
    }
  };
  // A damaged record may be a create with an unknown outcome, so nothing may be sent.
  const options = { dir, name, rotateAtBytes: ROTATE_AT_BYTES, durable: true, rejectForeign: true, fs };
  const log = guarded(() => new FileLog(journalFormat, options));
  guarded(() => fsyncDir(dir, 2));
  return {
    last: () => log.last(),
    refresh: () => guarded(() => log.refresh()),
    append: (record) => guarded(() => log.append(record)),
    sync: () =>
      log.sync().catch((error: unknown) => {
        throw storageError(error, label);
      }),
    confirm() {
      guarded(() => log.refresh());
      if (guarded(() => log.isLinked())) return;
      throw new PetstoreError('storage', `the import journal was moved or deleted (in ${label})`, {
        hint: 'run the same command again to create the missing rows',
      });
    },
    close: () => log.close(),
  };
}

/** Whether an import on this machine has written a journal; opening a missing journal would create it. */
export function hasFileJournal(stateDir: string, identity: string): boolean {
  const { dir, name } = placeOf(stateDir, identity);
  return existsSync(dir) && readdirSync(dir).some((file) => file.startsWith(`${name}.`));
}

function placeOf(stateDir: string, identity: string): { dir: string; name: string; label: string } {
  const dir = join(stateDir, 'imports');
  const name = createHash('sha256').update(identity).digest('hex').slice(0, 32);
  return { dir, name, label: escapeControls(dir) };
}

function storageError(error: unknown, label: string): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (error instanceof PetstoreError) return rephrase(error, `cannot use the import journal: ${error.message}`);
  if (typeof code !== 'string') return error;
  return new PetstoreError('storage', `cannot use the import journal in ${label} (${systemReason(error)})`, {
    hint: "check the directory's permissions and free space",
    cause: error,
  });
}
