// One import's journal on disk: a record before each request and after each answer, and one run at a time.
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { FileLog } from '../append-log/file-log.ts';
import { fsyncDir } from '../append-log/fsync-dir.ts';
import type { Clock } from '../clock.ts';
import { PetstoreError } from '../errors.ts';
import { escapeControls } from '../escape.ts';
import { alreadyRunning, isRunning } from './journal-lock.ts';
import type { JournalOptions, ProcessProbe } from './journal-paths.ts';
import { currentProcessProbe, journalDir, journalName } from './journal-paths.ts';
import type { JournalHeader, JournalRecord, JournalState } from './journal-state.ts';
import { chunks, journalFormat } from './journal-state.ts';

const SEAL_AT = 8 * 1024 * 1024;
/** How often a run says that it lives, in milliseconds. */
const BEAT_MS = 15_000;

/** The journal of one import. Every method that writes throws PetstoreError `storage` where it cannot. */
export class Journal {
  readonly #log: FileLog<JournalState>;
  readonly #clock: Clock;
  readonly #run = randomBytes(8).toString('hex');
  readonly #dir: string;
  readonly #path: string;
  readonly #life: ProcessProbe;
  #taken = false;
  #beating: NodeJS.Timeout | undefined;

  /**
   * Opens a journal, or begins it.
   * @throws PetstoreError `storage` where its folder or file cannot be used
   */
  constructor(options: JournalOptions) {
    const dir = journalDir(options);
    this.#dir = dir;
    this.#clock = options.clock;
    this.#life = options.life ?? currentProcessProbe();
    this.#path = join(dir, `${journalName(options.digest)}.*.log`);
    const files = { dir, name: journalName(options.digest), rotateAtBytes: SEAL_AT, durable: true };
    this.#log = this.#guard(
      () => new FileLog(journalFormat, options.fs === undefined ? files : { ...files, fs: options.fs }),
    );
  }

  /** @returns everything noted so far, by whichever run */
  get state(): JournalState {
    return this.#guard(() => this.#log.refresh());
  }

  /**
   * Makes this run the one that imports.
   * @param head what the import is
   * @param restart true: what earlier runs noted is forgotten
   * @throws PetstoreError `usage` where another run is at it, `storage` for a journal of a newer version
   */
  take(head: JournalHeader, restart: boolean): void {
    const { holder, head: before } = this.state;
    if (before && before.version !== head.version) throw this.#newer();
    if (holder && isRunning(holder, this.#life, this.#clock)) throw alreadyRunning(holder);
    if (holder) this.#append(['drop', holder.run]);
    const state = this.#append(['take', this.#run, this.#life.mark, this.#clock.now()]);
    if (state.holder && state.holder.run !== this.#run) throw alreadyRunning(state.holder);
    this.#taken = true;
    if (restart) this.#append(['reset', this.#run]);
    this.#append(['head', head]);
    this.#guard(() => fsyncDir(this.#dir, 2));
    this.#beating = setInterval(() => this.#beat(), BEAT_MS).unref();
  }

  // For runs that cannot ask the system whether this one lives: said in real time, however the run itself is timed.
  #beat(): void {
    try {
      this.#append(['beat', this.#run, this.#clock.now()]);
    } catch {
      // It is noticed where it matters, before the next request.
    }
  }

  /**
   * Notes what is there before the import sends its first row.
   * @param ids the id of every category, in digits
   */
  async noteBaseline(ids: readonly string[]): Promise<void> {
    for (const part of chunks(ids)) this.#append(['base', this.#run, part]);
    this.#append(['based', this.#run, ids.length]);
    await this.#sync();
  }

  /**
   * Notes that a row is about to be sent; when this resolves the note is on the disk.
   * @param row its number from 0
   */
  async send(row: number): Promise<void> {
    this.#append(['send', this.#run, row]);
    await this.#sync();
  }

  /**
   * Notes the service's answer.
   * @param row its number from 0
   * @param id the new category's id in digits
   */
  created(row: number, id: string): void {
    this.#append(['created', this.#run, row, id]);
  }

  /**
   * Notes how a sending ended, or what a lookup said.
   * @param row its number from 0
   * @param what `rejected` by the service; certainly `unsent`; answer `lost`, or not there in time (`slow`); looked up and
   *   `absent`
   */
  note(row: number, what: 'rejected' | 'unsent' | 'lost' | 'slow' | 'absent'): void {
    this.#append([what, this.#run, row]);
  }

  /**
   * Notes that a lookup found the category of a row whose answer was lost.
   * @param row its number from 0
   * @param id the category's id in digits
   */
  found(row: number, id: string): void {
    this.#append(['found', this.#run, row, id]);
  }

  /** Notes that nothing is left to do. */
  finish(): void {
    this.#append(['finished', this.#run]);
  }

  /** Lets another run go on; what was noted reaches the disk. May be called again. */
  async close(): Promise<void> {
    clearInterval(this.#beating);
    if (this.#taken) {
      this.#taken = false;
      this.#log.append(JSON.stringify(['drop', this.#run]));
      await this.#sync();
    }
    this.#log.close();
  }

  #append(record: JournalRecord): JournalState {
    const state = this.#guard(() => {
      this.#log.append(JSON.stringify(record));
      return this.#log.last();
    });
    if (this.#taken && state.holder?.run !== this.#run) {
      this.#taken = false;
      throw new PetstoreError('storage', 'another run has taken this import over', { hint: 'let that one go on' });
    }
    return state;
  }

  async #sync(): Promise<void> {
    await this.#log.sync().catch((error: unknown) => {
      throw this.#storage(error);
    });
  }

  #guard<T>(use: () => T): T {
    try {
      return use();
    } catch (error) {
      throw this.#storage(error);
    }
  }

  #newer(): PetstoreError {
    return new PetstoreError('storage', `the import's journal is of a newer petstore: ${escapeControls(this.#path)}`, {
      hint: 'go on with that version; nothing was changed',
    });
  }

  #storage(error: unknown): unknown {
    const code = (error as NodeJS.ErrnoException).code;
    if (typeof code !== 'string') return error;
    return new PetstoreError(
      'storage',
      `the import's journal cannot be used (${code}): ${escapeControls(this.#path)}`,
      {
        hint: 'without a journal nothing is sent: check the rights and the space of that folder',
        cause: error,
      },
    );
  }
}
