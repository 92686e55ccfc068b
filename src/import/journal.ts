// The journal of a base URL: a record before each create and after each response, written by the run that holds its lock.
import { createHash, randomBytes } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { FileLog } from '../append-log/file-log.ts';
import type { LogFs } from '../append-log/generations.ts';
import { fsyncDir } from '../append-log/generations.ts';
import type { Log } from '../append-log/log.ts';
import { DamagedRecordError } from '../append-log/log.ts';
import type { ProcessRef } from '../append-log/process-liveness.ts';
import { currentProcess, isAlive } from '../append-log/process-liveness.ts';
import type { Clock } from '../clock.ts';
import { PetstoreError } from '../errors.ts';
import { escapeControls } from '../escape.ts';
import type { Account, JournalRecord, JournalState, Labelled } from './journal-state.ts';
import { journalFormat, newAccount } from './journal-state.ts';

const ROTATE_AT_BYTES = 8 * 1024 * 1024;
/** How often a run writes a record that it is alive, in milliseconds of real time. */
const BEAT_MS = 15_000;
/** A run whose process cannot be seen counts as dead once it has written nothing for this long, milliseconds. */
export const SILENCE_MS = 60_000;
const POLL_MS = 200;
const KNOWN_PER_RECORD = 1000;

export interface LockOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly processes?: { readonly self: ProcessRef; readonly isAlive: typeof isAlive };
  /** Called once, with the process that holds the lock. */
  readonly onWait?: (holder: ProcessRef) => void;
}

type JournalLog = Log<JournalState> & Pick<FileLog<JournalState>, 'isLinked'>;

/** Every method throws PetstoreError `storage` where the journal cannot be read or written. */
export class Journal {
  readonly #log: JournalLog;
  readonly #label: string;
  readonly #run = randomBytes(6).toString('hex');
  #attempts = 0;
  #held = false;
  #beating: NodeJS.Timeout | undefined;

  /** @param identity what the import writes to: the base URL, or the sandbox's data */
  constructor(stateDir: string, identity: string, fs?: LogFs) {
    const { dir, name, label } = placeOf(stateDir, identity);
    this.#label = label;
    const options = { dir, name, rotateAtBytes: ROTATE_AT_BYTES, durable: true, rejectForeign: true, fs };
    this.#log = this.#guarded(() => new FileLog(journalFormat, options));
    this.#guarded(() => fsyncDir(dir, 2));
  }

  /** The accounts as the journal knows them, without its lock; nothing is written. */
  static peek(stateDir: string, identity: string): readonly Account[] {
    const { dir, name } = placeOf(stateDir, identity);
    if (!existsSync(dir) || !readdirSync(dir).some((file) => file.startsWith(`${name}.`))) return [newAccount()];
    const journal = new Journal(stateDir, identity);
    try {
      return journal.#guarded(() => journal.#log.refresh()).accounts;
    } finally {
      journal.#log.close();
    }
  }

  /** Where it is, for messages. */
  get label(): string {
    return this.#label;
  }

  get accounts(): readonly Account[] {
    return this.#log.last().accounts;
  }

  get account(): Account {
    const { accounts, current } = this.#log.last();
    return accounts[current] as Account;
  }

  /** Waits until no other run imports to this base URL. A run that cannot be seen is dead after SILENCE_MS without a record. */
  async acquire({ clock, signal, processes, onWait }: LockOptions): Promise<void> {
    const { self, isAlive: judge } = processes ?? { self: currentProcess(), isAlive };
    let seen = '';
    let since = 0;
    let told = false;
    for (;;) {
      const { lock } = this.#guarded(() => this.#log.refresh());
      if (lock?.run === this.#run) break;
      if (!lock) {
        this.#append(['acquire', this.#run, self]);
        continue;
      }
      const now = clock.monotonic();
      // Wall clocks are never compared.
      if (seen !== `${lock.run} ${lock.beats}`) since = now;
      seen = `${lock.run} ${lock.beats}`;
      const state = judge(lock);
      if (state === 'dead' || (state === 'unknown' && now - since >= SILENCE_MS)) {
        // Void where the holder has written since.
        this.#append(['expire', lock.run, lock.beats]);
        continue;
      }
      if (!told) onWait?.(lock);
      told = true;
      await clock.sleep(POLL_MS, signal);
    }
    this.#held = true;
    // In real time, however the run's own clock is driven. A failure shows at the next request.
    this.#beating = setInterval(() => {
      try {
        this.#append(['beat', this.#run]);
      } catch {}
    }, BEAT_MS).unref();
  }

  /**
   * The last look before a request is sent; reads what other runs wrote.
   * @throws PetstoreError `storage` where another run has taken over, or the journal has vanished
   */
  assertHeld(): void {
    this.#guarded(() => this.#log.refresh());
    this.#assertLock();
    if (this.#guarded(() => this.#log.isLinked())) return;
    throw new PetstoreError('storage', `the import's journal was moved or deleted: ${this.#label}`, {
      hint: 'run the same command again to create what is missing',
    });
  }

  /** Chooses the account that this run works on; an index of none is a new one. */
  useAccount(index: number): void {
    if (index !== this.#log.last().current) this.#append(['account', this.#run, index]);
  }

  /** Records what exists before something is sent. */
  recordKnown(categories: readonly Labelled[]): void {
    const fresh = categories.filter(([id]) => !this.account.known.has(id));
    for (let at = 0; at < fresh.length; at += KNOWN_PER_RECORD) {
      this.#append(['known', this.#run, fresh.slice(at, at + KNOWN_PER_RECORD)]);
    }
  }

  /** @returns a new attempt, once it is on disk */
  async recordSend(name: string): Promise<string> {
    const attempt = `${this.#run}-${++this.#attempts}`;
    this.#append(['send', this.#run, attempt, name]);
    await this.#log.sync().catch((error: unknown) => {
      throw this.#storageError(error);
    });
    return attempt;
  }

  /** @returns false where the id proves nothing: it was there before, or belongs to another create, which is in doubt again */
  recordCreated(attempt: string, [id, label]: Labelled): boolean {
    this.#append(['created', this.#run, attempt, id, label]);
    return !this.account.doubts.has(attempt);
  }

  /** Records what a list shows to be the outcome of an attempt. */
  recordFound(attempt: string, [id, label]: Labelled): void {
    this.#append(['found', this.#run, attempt, id, label]);
  }

  /** Records that the service did not say in time what it does with an attempt. */
  recordSlow(attempt: string): void {
    this.#append(['slow', this.#run, attempt]);
  }

  /** Records that an attempt certainly created nothing. */
  recordAbsent(attempt: string): void {
    this.#append(['absent', this.#run, attempt]);
  }

  /** Releases the lock; what was recorded reaches the disk. */
  async close(): Promise<void> {
    clearInterval(this.#beating);
    try {
      if (!this.#held) return;
      this.#held = false;
      this.#log.append(JSON.stringify(['release', this.#run] satisfies JournalRecord));
      await this.#log.sync();
    } finally {
      this.#log.close();
    }
  }

  #append(record: JournalRecord): void {
    this.#guarded(() => this.#log.append(JSON.stringify(record)));
    if (this.#held) this.#assertLock();
  }

  #assertLock(): void {
    if (this.#log.last().lock?.run === this.#run) return;
    throw new PetstoreError('storage', 'another run has taken over this import', {
      hint: 'this run was silent for too long; the other one continues',
    });
  }

  #guarded<T>(use: () => T): T {
    try {
      return use();
    } catch (error) {
      throw this.#storageError(error);
    }
  }

  #storageError(error: unknown): unknown {
    if (error instanceof DamagedRecordError) {
      return new PetstoreError('storage', `the journal of imports is damaged: ${this.#label}`, {
        hint: 'wait until no import can have a request on its way, then move the journal away; it was not changed',
        cause: error,
      });
    }
    const { code } = error as NodeJS.ErrnoException;
    if (error instanceof PetstoreError || typeof code !== 'string') return error;
    return new PetstoreError('storage', `cannot use the journal of imports (${code}): ${this.#label}`, {
      hint: "check the folder's permissions and free space; without a journal nothing is sent",
      cause: error,
    });
  }
}

function placeOf(stateDir: string, identity: string): { dir: string; name: string; label: string } {
  const dir = join(stateDir, 'imports');
  const name = createHash('sha256').update(identity).digest('hex').slice(0, 32);
  return { dir, name, label: escapeControls(join(dir, `${name}.*.log`)) };
}
