// One import's journal: a record before each request and after each response, written by one run at a time.
import { randomBytes } from 'node:crypto';
import { PetstoreError } from '../errors.ts';
import type { JournalLog } from './journal-files.ts';
import { damagedJournal } from './journal-files.ts';
import type { LockOptions } from './journal-lock.ts';
import { alreadyRunning, currentProcessProbe, expireDeadHolder } from './journal-lock.ts';
import type { JournalHeader, JournalRecord, JournalState, RowEvent } from './journal-state.ts';
import { chunks } from './journal-state.ts';

/** How often a run writes a record that it is alive, in milliseconds of real time. */
const BEAT_MS = 15_000;

/** A journal whose lock this run holds. Every method throws PetstoreError `storage` where it cannot be written. */
export class Journal {
  readonly #log: JournalLog;
  readonly #run = randomBytes(8).toString('hex');
  #held = false;
  #beating: NodeJS.Timeout | undefined;

  constructor(log: JournalLog) {
    this.#log = log;
  }

  /** Every record so far, reduced. */
  get state(): JournalState {
    return this.#log.last();
  }

  /**
   * Makes this run the one that imports.
   * @param restart true: forget what earlier runs recorded
   * @throws PetstoreError `usage` where another run is alive, `storage` where the journal is damaged or newer
   */
  async acquire(header: JournalHeader, restart: boolean, options: LockOptions): Promise<void> {
    await this.#log.refresh();
    const { version = header.version } = this.state.header ?? {};
    if (version !== header.version) throw newerVersion();
    await expireDeadHolder(this.#log, options);
    await this.#append(['acquire', this.#run, (options.processes ?? currentProcessProbe()).self]);
    const { lock } = this.state;
    if (lock?.run !== this.#run) throw alreadyRunning(lock ?? { pid: 0, start: '', host: '' });
    this.#held = true;
    if (restart) await this.#append(['restart', this.#run]);
    await this.#append(['header', header]);
    checkRows(this.#log, header.rows);
    // In real time, however the run's own clock is driven. A failure shows at the next request.
    this.#beating = setInterval(() => void this.#append(['beat', this.#run]).catch(() => undefined), BEAT_MS).unref();
  }

  /**
   * The last look before a request is sent; reads what other runs wrote.
   * @throws PetstoreError `storage` where another run has taken over, or the journal has vanished
   */
  assertHeld(): void {
    if (this.#log.lastLook().lock?.run !== this.#run) throw takenOver();
  }

  /** Records what exists before the first row is sent. */
  async recordBaseline(ids: readonly string[]): Promise<void> {
    const unique = [...new Set(ids)];
    for (const part of chunks(unique)) await this.#append(['baseline', this.#run, part]);
    await this.#append(['baseline-end', this.#run, unique.length]);
    await this.#log.sync();
  }

  /** Records that a row, counted from 0, is about to be sent; resolves when the record is on disk. */
  async recordSend(row: number): Promise<void> {
    await this.#append(['send', this.#run, row]);
    await this.#log.sync();
  }

  /** Records what became of a row. */
  async record(event: Exclude<RowEvent, 'send' | 'created' | 'found'>, row: number): Promise<void> {
    await this.#append([event, this.#run, row]);
  }

  /** Records the category of a row. */
  async recordId(event: 'created' | 'found', row: number, id: string): Promise<void> {
    await this.#append([event, this.#run, row, id]);
  }

  async recordFinished(): Promise<void> {
    await this.#append(['finished', this.#run]);
  }

  /** Releases the lock; what was recorded reaches the disk. */
  async close(): Promise<void> {
    clearInterval(this.#beating);
    try {
      if (!this.#held) return;
      this.#held = false;
      await this.#log.append(JSON.stringify(['release', this.#run] satisfies JournalRecord));
      await this.#log.sync();
    } finally {
      this.#log.close();
    }
  }

  async #append(record: JournalRecord): Promise<void> {
    const state = await this.#log.append(JSON.stringify(record));
    if (this.#held && state.lock?.run !== this.#run) throw takenOver();
  }
}

/**
 * @param count how many rows the import has
 * @throws PetstoreError `storage` where the journal cannot belong to it
 */
export function checkRows(log: JournalLog, count: number): void {
  const { header, rows, baseline } = log.last();
  const fits = (header?.rows ?? count) === count && [...rows.keys()].every((row) => row < count);
  // Rows are sent only once the baseline is recorded; without it no look-up could find them.
  const decidable = baseline !== undefined || [...rows.values()].every(({ state }) => state !== 'unknown');
  if (!fits || !decidable) throw damagedJournal(log.label);
}

function takenOver(): PetstoreError {
  return new PetstoreError('storage', 'another run has taken over this import', {
    hint: 'this run was silent for too long; the other one continues',
  });
}

function newerVersion(): PetstoreError {
  return new PetstoreError('storage', "the import's journal was written by another version of petstore", {
    hint: 'resume the import with that version; nothing was changed',
  });
}
