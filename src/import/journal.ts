// The journal of a base URL: a record before each create and after each response, written by the run that holds its lock.
import { randomBytes } from 'node:crypto';
import type { ProcessRef } from '../append-log/process-liveness.ts';
import { currentProcess, livenessOf } from '../append-log/process-liveness.ts';
import type { Clock } from '../clock.ts';
import { PetstoreError } from '../errors.ts';
import type { JournalRecord, Labeled } from './journal-record.ts';
import { formatRecord } from './journal-record.ts';
import type { Account, JournalState } from './journal-state.ts';

/** How often a run records that it is alive, in milliseconds of real time. */
const BEAT_MS = 15_000;
/** A run whose process cannot be seen counts as dead after this long without a record, in milliseconds. */
export const SILENCE_MS = 60_000;
const POLL_MS = 200;
const IDS_PER_RECORD = 1000;

export interface LockOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly processes?: { readonly self: ProcessRef; readonly livenessOf: typeof livenessOf };
  /** Called once, with the process that holds the lock. */
  readonly onWait?: (holder: ProcessRef) => void;
}

/** The log of a journal: a file on this machine, or a stream on a state server. Errors are PetstoreErrors of kind `storage`. */
export interface JournalLog {
  refresh(): JournalState | Promise<JournalState>;
  append(record: string): void | Promise<void>;
  last(): JournalState;
  /** Makes all appended records as durable as the log can. */
  sync(): Promise<void>;
  /** The last check before a request is sent: throws if another run may have taken over, or the log was removed. */
  confirm(): void;
  /** Called once the run holds the lock: waits for requests whose records may be lost. */
  acquired?(signal: AbortSignal): Promise<void>;
  /** The state before the log lost records, since the last call; undefined if it lost none. */
  takeLost?(): JournalState | undefined;
  close(): void;
}

/** Every method throws PetstoreError `storage` if the journal cannot be read or written. */
export class Journal {
  readonly #log: JournalLog;
  readonly #run = randomBytes(6).toString('hex');
  /** The attempts that this run recorded as found or absent. */
  readonly #ended = new Set<string>();
  #attempts = 0;
  #held = false;
  #restored: Promise<unknown> = Promise.resolve();
  #beating: NodeJS.Timeout | undefined;

  /** @param log is closed with the journal */
  constructor(log: JournalLog) {
    this.#log = log;
  }

  get accounts(): readonly Account[] {
    return this.#log.last().accounts;
  }

  get account(): Account {
    const { accounts, current } = this.#log.last();
    return accounts[current] as Account;
  }

  /** Waits until no other run imports to this base URL, and takes the lock. */
  async acquire({ clock, signal, processes, onWait }: LockOptions): Promise<void> {
    const { self, livenessOf: judge } = processes ?? { self: currentProcess(), livenessOf };
    let seen = '';
    let since = 0;
    let isReported = false;
    for (;;) {
      const { lock } = await this.#log.refresh();
      if (lock?.run === this.#run) break;
      if (!lock) {
        await this.#append(['acquire', this.#run, self]);
        continue;
      }
      const now = clock.monotonic();
      // Do not compare the wall clocks of two machines; measure the silence on this one.
      if (seen !== `${lock.run} ${lock.beats}`) since = now;
      seen = `${lock.run} ${lock.beats}`;
      const state = judge(lock);
      if (state === 'dead' || (state === 'unknown' && now - since >= SILENCE_MS)) {
        // The record is void if the holder has written since.
        await this.#append(['expire', lock.run, lock.beats]);
        continue;
      }
      if (!isReported) onWait?.(lock);
      isReported = true;
      await clock.sleep(POLL_MS, signal);
    }
    this.#held = true;
    // Use real time even if tests inject another clock. A failure shows at the next request.
    this.#beating = setInterval(() => {
      this.#append(['beat', this.#run]).catch(() => undefined);
    }, BEAT_MS).unref();
    await this.#log.acquired?.(signal);
  }

  /**
   * The last check before a request is sent.
   * @throws PetstoreError `storage` if another run has taken over, or the journal was removed
   */
  assertHeld(): void {
    this.#log.confirm();
    this.#assertLock();
  }

  /** Call before choosing what to send: a refresh may reveal that the log lost records. */
  async restoreLost(): Promise<void> {
    await this.#restoreLost();
    await this.#restored;
  }

  /** Selects the account of this run; the index after the last one creates an account. */
  async useAccount(index: number): Promise<void> {
    if (index !== this.#log.last().current) await this.#append(['account', this.#run, index]);
  }

  /** Records the categories that exist before the first create. */
  async recordKnown(categories: readonly Labeled[]): Promise<void> {
    const fresh = categories.filter(([id]) => !this.account.known.has(id));
    for (const some of inPortions(fresh)) await this.#append(['known', this.#run, some]);
  }

  /** Records that a list showed these creations as they were sent. */
  async recordSettled(ids: readonly string[]): Promise<void> {
    for (const some of inPortions(ids)) await this.#append(['settled', this.#run, some]);
  }

  /** Records that these categories were deleted on purpose. */
  async recordDeleted(ids: readonly string[]): Promise<void> {
    for (const some of inPortions(ids)) await this.#append(['deleted', this.#run, some]);
  }

  /** @returns a new attempt, once its record is on disk */
  async recordSend(name: string): Promise<string> {
    const attempt = `${this.#run}-${++this.#attempts}`;
    await this.#append(['send', this.#run, attempt, name]);
    await this.#log.sync();
    return attempt;
  }

  /** @returns false if the id proves nothing: it existed before, or belongs to another create, which is uncertain again */
  async recordCreated(attempt: string, [id, label]: Labeled): Promise<boolean> {
    await this.#append(['created', this.#run, attempt, id, label]);
    return !this.account.uncertain.has(attempt);
  }

  /** Records the outcome of an attempt as found in a list. */
  recordFound(attempt: string, [id, label]: Labeled): Promise<void> {
    this.#ended.add(attempt);
    return this.#append(['found', this.#run, attempt, id, label]);
  }

  /** The category that an attempt is recorded to have created. */
  creationOf(attempt: string): Labeled | undefined {
    const [id, creation] = [...this.account.created].find(([, one]) => one.attempt === attempt) ?? [];
    return id === undefined || !creation ? undefined : [id, creation.label];
  }

  /** Records on disk that the service may process an attempt later than usual. */
  async recordSlow(attempt: string): Promise<void> {
    await this.#append(['slow', this.#run, attempt]);
    await this.#log.sync();
  }

  /** Records that an attempt certainly created nothing. */
  recordAbsent(attempt: string): Promise<void> {
    this.#ended.add(attempt);
    return this.#append(['absent', this.#run, attempt]);
  }

  /** Releases the lock and syncs all records to the disk. */
  async close(): Promise<void> {
    clearInterval(this.#beating);
    try {
      if (!this.#held) return;
      this.#held = false;
      await this.#log.append(formatRecord(['release', this.#run]));
      await this.#log.sync();
    } finally {
      this.#log.close();
    }
  }

  async #append(record: JournalRecord): Promise<void> {
    await this.#log.append(formatRecord(record));
    if (!this.#held) return;
    this.#assertLock();
    await this.#restoreLost();
  }

  async #restoreLost(): Promise<void> {
    const { accounts, current } = this.#log.takeLost?.() ?? {};
    if (!accounts || current === undefined) return;
    const restoring = this.#restore(accounts[current] as Account, current);
    this.#restored = Promise.all([this.#restored, restoring]);
    this.#restored.catch(() => undefined);
    await restoring;
  }

  // Restores the records that the log lost; the lock proves that no other run has begun meanwhile.
  async #restore({ known, created, uncertain }: Account, index: number): Promise<void> {
    await this.useAccount(index);
    await this.recordKnown([...known].map(([id, { label }]) => [id, label]));
    for (const [id, { attempt, name, label }] of created) {
      if (this.account.created.has(id)) continue;
      await this.#append(['send', this.#run, attempt, name]);
      await this.recordFound(attempt, [id, label]);
    }
    // Mark settled attempts absent, or they could claim another attempt's category.
    for (const attempt of [...this.account.uncertain.keys()]) {
      const isSettled = this.#ended.has(attempt) || !attempt.startsWith(`${this.#run}-`);
      if (isSettled && !uncertain.has(attempt)) await this.recordAbsent(attempt);
    }
    for (const [attempt, { name, slow }] of uncertain) {
      const isEnded = (): boolean => this.#ended.has(attempt);
      if (this.account.uncertain.has(attempt) || isEnded() || this.creationOf(attempt)) continue;
      await this.#append(['send', this.#run, attempt, name]);
      if (slow) await this.recordSlow(attempt);
      // The append that revealed the loss, or a concurrent one, may have settled the attempt.
      const creation = this.creationOf(attempt);
      if (creation) await this.recordFound(attempt, creation);
      else if (isEnded()) await this.recordAbsent(attempt);
    }
  }

  #assertLock(): void {
    if (this.#log.last().lock?.run === this.#run) return;
    throw new PetstoreError('storage', 'another process has taken over this import', {
      hint: 'run the same command again to create the missing rows',
    });
  }
}

function* inPortions<T>(items: readonly T[]): Generator<readonly T[]> {
  for (let at = 0; at < items.length; at += IDS_PER_RECORD) yield items.slice(at, at + IDS_PER_RECORD);
}
