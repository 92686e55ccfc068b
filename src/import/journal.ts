// One import's journal: a record before each request and after each response, written by the run that holds its lock.
import { randomBytes } from 'node:crypto';
import type { ProcessRef } from '../append-log/process-liveness.ts';
import { currentProcess, isAlive } from '../append-log/process-liveness.ts';
import type { Clock } from '../clock.ts';
import { PetstoreError } from '../errors.ts';
import type { JournalLog } from './journal-files.ts';
import { damagedJournal } from './journal-files.ts';
import type { JournalHeader, JournalRecord, LockHolder, RowEvent, RowState } from './journal-record.ts';
import type { JournalState } from './journal-state.ts';

/** How often a run writes a record that it is alive, in milliseconds of real time. */
const BEAT_MS = 15_000;

/** A run whose process cannot be judged counts as dead once it has written nothing for this long, milliseconds. */
export const SILENCE_MS = 60_000;
const LOOK_EVERY_MS = 1000;

export interface ProcessProbe {
  readonly self: ProcessRef;
  readonly isAlive: (process: ProcessRef) => 'alive' | 'dead' | 'unknown';
}

export interface LockOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly processes?: ProcessProbe | undefined;
  /** Called every second of a wait, with the milliseconds left at most. */
  readonly onWait?: ((leftMs: number) => void) | undefined;
}

export function currentProcessProbe(): ProcessProbe {
  return { self: currentProcess(), isAlive };
}

/** A journal whose lock this run holds. Every method throws PetstoreError `storage` where it cannot be written. */
export class Journal {
  readonly #log: JournalLog;
  readonly #run = randomBytes(8).toString('hex');
  #held = false;
  #beating: NodeJS.Timeout | undefined;

  constructor(log: JournalLog) {
    this.#log = log;
  }

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
    checkRows(this.#log, header.rows);
    await expireDeadHolder(this.#log, options);
    const { self } = options.processes ?? currentProcessProbe();
    await this.#append(['acquire', this.#run, self, { ...header, epoch: this.#log.epoch }]);
    const { lock } = this.state;
    if (lock?.run !== this.#run) throw alreadyRunning(lock ?? { pid: 0, start: '', host: '' });
    this.#held = true;
    if (restart) await this.#append(['restart', this.#run]);
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

  async recordBaseline(ids: readonly string[]): Promise<void> {
    await this.#append(['baseline', this.#run, ids]);
    await this.#log.sync();
  }

  /**
   * Records an event of a row, counted from 0; a `send` is on disk when this resolves.
   * @param id the category's, with `created` and `found`
   * @returns the row's state after it, which is another than expected where a late 201 reached an earlier run
   */
  async record(event: RowEvent, row: number, id?: string): Promise<RowState> {
    await this.#append(id === undefined ? ['row', this.#run, event, row] : ['row', this.#run, event, row, id]);
    if (event === 'send') await this.#log.sync();
    return this.state.rows.get(row)?.state ?? 'pending';
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
  const hasUndecided = [...rows.values()].some(({ state }) => state === 'sending' || state === 'unknown');
  if (!fits || (hasUndecided && !baseline)) throw damagedJournal(log.label);
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

/**
 * Waits until the lock of a journal is free, and ends the lock of a run that is dead. Wall clocks are never compared:
 * a run of another machine or container is watched for SILENCE_MS on this machine's monotonic clock.
 * @throws PetstoreError `usage` where the run that holds it is alive
 */
export async function expireDeadHolder(log: JournalLog, options: LockOptions, what?: string): Promise<void> {
  const { isAlive: judge } = options.processes ?? currentProcessProbe();
  for (;;) {
    const { lock } = await log.refresh();
    if (!lock) return;
    const state = judge(lock);
    if (state === 'alive' || (state === 'unknown' && (await showsLife(log, lock, options)))) {
      throw alreadyRunning(lock, what);
    }
    // Void where the holder has written since: the loop then judges it again.
    await log.append(JSON.stringify(['expire', lock.run, lock.beats] satisfies JournalRecord));
  }
}

async function showsLife(
  log: JournalLog,
  holder: LockHolder,
  { clock, signal, onWait }: LockOptions,
): Promise<boolean> {
  const until = clock.monotonic() + SILENCE_MS;
  for (let left = SILENCE_MS; left > 0; left = until - clock.monotonic()) {
    onWait?.(left);
    await clock.sleep(Math.min(left, LOOK_EVERY_MS), signal);
    const { lock } = await log.refresh();
    if (lock?.run !== holder.run) return false;
    if (lock.beats !== holder.beats) return true;
  }
  return false;
}

function alreadyRunning(holder: ProcessRef, what = 'these rows'): PetstoreError {
  return new PetstoreError('usage', `another run is already importing ${what} (process ${holder.pid})`, {
    hint: 'wait for it to finish, or stop it with Ctrl-C and run this command again to resume',
  });
}
