// Where an import's journal lies, and who this process is to others that look into it.
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { LogFs } from '../append-log/generations.ts';
import type { ProcessRef } from '../append-log/process-liveness.ts';
import { currentProcess, isAlive } from '../append-log/process-liveness.ts';
import type { Clock } from '../clock.ts';

/** Which journal, and the world around it. */
export interface JournalOptions {
  readonly stateDir: string;
  /** What the import goes to: `Target.identity`. Never a key. */
  readonly identity: string;
  /** The rows' digest. */
  readonly digest: string;
  readonly clock: Clock;
  /** The file system; tests hand in one that fails. */
  readonly fs?: LogFs | undefined;
  /** This process and how others are asked; tests hand in their own. */
  readonly life?: ProcessProbe | undefined;
}

/** Who this process is, and whether others live. */
export interface ProcessProbe {
  readonly mark: ProcessRef;
  readonly ask: (mark: ProcessRef) => 'alive' | 'dead' | 'unknown';
}

/** @returns this process, asking the system about others */
export function currentProcessProbe(): ProcessProbe {
  return { mark: currentProcess(), ask: isAlive };
}

/**
 * @param options which journal
 * @returns its folder: one for each service that is imported to
 */
export function journalDir(options: Pick<JournalOptions, 'stateDir' | 'identity'>): string {
  return join(options.stateDir, 'imports', createHash('sha256').update(options.identity).digest('hex').slice(0, 16));
}

/**
 * @param digest the rows' digest
 * @returns the name of their journal, before its generation
 */
export function journalName(digest: string): string {
  return digest.slice(0, 32);
}
