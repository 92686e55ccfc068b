// The append-only log: many processes write records to one file without a lock, and all fold the same state from it.
//
// Every record is one write() on an O_APPEND descriptor, so records never interleave; a grant or an id is a function of
// the bytes before it, so every process computes the same one. A log that has grown is sealed by a record; the first
// seal in file order ends that generation, and whoever notices writes the next one (a snapshot) and links it into
// place. There is no lock, hence nothing to go stale after kill -9.
import * as nodeFs from 'node:fs';
import { PetstoreError } from '../errors.ts';
import { escapeControls } from '../escape.ts';
import type { LogFs } from './generations.ts';
import { Generations, ShortWriteError } from './generations.ts';

/** How the records of one kind of log become a state. Both functions must depend on nothing but their arguments. */
export interface LogFormat<State> {
  /** @returns the state before the first record */
  initial(): State;
  /**
   * Folds one record into the state, in place. Records it does not understand are to be ignored.
   * @param state what the records so far gave
   * @param record one record, without line end
   */
  apply(state: State, record: string): void;
  /**
   * @param state any state
   * @returns records which, folded over `initial()`, give that state back: the head of the next generation
   */
  snapshot(state: State): Iterable<string>;
}

/** Where a log lives and how it is kept. */
export interface LogOptions {
  /** The folder; made with mode 0700 where it is missing. */
  readonly dir: string;
  /** The file's name before `.<generation>.log`. */
  readonly name: string;
  /** Size in bytes from which a generation is sealed. */
  readonly rotateAtBytes: number;
  /** True: `sync()` reaches the disk, and a new generation does before it is linked. */
  readonly durable?: boolean;
  /** True: a file that no log began is refused. Else its content counts for nothing, and the log goes on behind it. */
  readonly ownOnly?: boolean;
  /** The file system; tests hand in one that fails. */
  readonly fs?: LogFs;
}

/** A log as its users see it, on disk or in memory. */
export interface Log<State> {
  /** @returns the state after every record written so far, by whichever process; the same object until a rotation */
  refresh(): State;
  /**
   * Writes one record and folds it.
   * @param record text without line breaks
   * @returns the state after the record (and whatever others wrote meanwhile)
   * @throws ShortWriteError where only part of it reached the file (the part is void); errors of the file system as they come
   */
  append(record: string): State;
  /** @returns the state as last read, without a look at the file */
  last(): State;
  /** Makes every record appended so far survive a power failure; calls made meanwhile share one fdatasync. */
  sync(): Promise<void>;
  /** Lets go of the file; the log may not be used after. */
  close(): void;
}

const SEAL = '#seal';
const HEAD = '#head ';
const { O_APPEND, O_CREAT, O_RDWR } = nodeFs.constants;
const END = ' .';
const VOID = '~';
const CHUNK = 64 * 1024;
// Filled and emptied within one synchronous read, so all logs may share it.
let chunk: Buffer | undefined;

/** The log on disk. */
export class FileLog<State> implements Log<State> {
  readonly #format: LogFormat<State>;
  readonly #files: Generations;
  readonly #options: LogOptions;
  readonly #fs: LogFs;
  readonly #stamp = Math.floor(Math.random() * 36 ** 6).toString(36);
  #counter = 0;
  #generation = 0;
  #fd = -1;
  #offset = 0;
  #head = 0;
  #tail: Buffer = Buffer.alloc(0);
  #sealed = false;
  #state: State;
  #awaited = '';
  #landed = false;
  #syncing: Promise<void> | undefined;
  #nextSync: Promise<void> | undefined;

  /**
   * Opens the newest generation, or makes the first.
   * @throws errors of the file system as they come (EACCES, EROFS, ENOSPC, …); PetstoreError `storage` for a file that
   *   is no log, where those are refused
   */
  constructor(format: LogFormat<State>, options: LogOptions) {
    this.#format = format;
    this.#options = options;
    this.#fs = options.fs ?? nodeFs;
    this.#state = format.initial();
    this.#files = new Generations(this.#fs, options.dir, options.name, options.durable ?? false);
    this.#openNewest();
  }

  /** @returns the number of the generation in use, from 1 */
  get generation(): number {
    return this.#generation;
  }

  last(): State {
    return this.#state;
  }

  refresh(): State {
    for (;;) {
      this.#readOn();
      if (!this.#sealed) return this.#state;
      this.#moveOn();
    }
  }

  append(record: string): State {
    if (/[\r\n]/.test(record)) throw new RangeError('a record is one line');
    for (;;) {
      if (this.#sealed) this.refresh();
      const line = `${this.#stamp}${(this.#counter++).toString(36)} ${record}${END}`;
      this.#awaited = line;
      this.#landed = false;
      this.#write(line);
      this.#readOn();
      const landed = this.#landed;
      this.#awaited = '';
      // A large state must not be written again at every record: a generation at least doubles before its seal.
      const full = this.#offset >= Math.max(this.#options.rotateAtBytes, 2 * this.#head);
      if (landed && !this.#sealed && !full) return this.#state;
      if (landed && !this.#sealed) this.#seal();
      if (landed) return this.refresh();
      // Behind a seal the record is void for everybody: it goes into the next generation.
      if (!this.#sealed) throw new ShortWriteError(`a record did not arrive in ${this.#files.path(this.#generation)}`);
    }
  }

  sync(): Promise<void> {
    if (!this.#options.durable) return Promise.resolve();
    if (!this.#syncing) {
      this.#syncing = this.#fdatasync().finally(() => {
        this.#syncing = undefined;
      });
      return this.#syncing;
    }
    // The sync under way may have begun before the caller's record: wait for the one after it.
    this.#nextSync ??= this.#syncing
      .catch(() => undefined)
      .then(() => {
        this.#nextSync = undefined;
        return this.sync();
      });
    return this.#nextSync;
  }

  close(): void {
    if (this.#fd >= 0) this.#fs.closeSync(this.#fd);
    this.#fd = -1;
  }

  // A flush under way still uses the descriptor: closed now, it would fail, or flush whatever file gets the number next.
  #release(): void {
    const fd = this.#fd;
    if (fd < 0) return;
    const close = (): void => this.#fs.closeSync(fd);
    if (this.#syncing) this.#syncing.then(close, close);
    else close();
  }

  #fdatasync(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#fs.fdatasync(this.#fd, (error) => (error ? reject(error) : resolve()));
    });
  }

  // Others may rotate between the look at the folder and the open: what was opened must still be the newest.
  #openNewest(): void {
    for (;;) {
      const newest = this.#files.newest();
      if (this.#open(newest) && this.#files.newest() === this.#generation) return;
    }
  }

  // A generation that is gone must not be made anew: only the very first is created by opening it.
  #open(generation: number): boolean {
    const flags = O_APPEND | O_RDWR | (generation === 0 ? O_CREAT : 0);
    let fd: number;
    try {
      fd = this.#fs.openSync(this.#files.path(generation || 1), flags, 0o600);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT' && generation > 0) return false;
      throw error;
    }
    if (this.#options.ownOnly && !this.#isOurs(fd)) {
      this.#fs.closeSync(fd);
      const path = escapeControls(this.#files.path(generation || 1));
      const hint = 'move it away, or name another one; it was left as it is';
      throw new PetstoreError('storage', `the file holds no data of petstore: ${path}`, { hint });
    }
    this.#release();
    if (generation === 0) this.#files.syncFolder();
    this.#fd = fd;
    this.#generation = generation || 1;
    this.#offset = 0;
    this.#head = 0;
    this.#tail = Buffer.alloc(0);
    this.#sealed = false;
    this.#state = this.#format.initial();
    return true;
  }

  // The first generation begins with a void line, a later one with a record of its snapshot, or with its head.
  #isOurs(fd: number): boolean {
    const start = Buffer.alloc(2);
    const read = this.#fs.readSync(fd, start, 0, 2, 0);
    return [`${VOID}\n`, '0 ', HEAD].some((ours) => ours.startsWith(start.toString('latin1', 0, read)));
  }

  // The record before it is safe already: a seal that does not fit is left to whoever writes next.
  #seal(): void {
    try {
      this.#write(`${SEAL}${END}`);
    } catch (error) {
      if (!(error instanceof ShortWriteError) && (error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
    }
  }

  // What a torn record left behind is ended, and made void even where only its line break was missing.
  #write(line: string): void {
    const bytes = Buffer.from(`${VOID}\n${line}\n`);
    const written = this.#fs.writeSync(this.#fd, bytes, 0, bytes.length, null);
    if (written !== bytes.length) throw new ShortWriteError(`only ${written} of ${bytes.length} bytes were written`);
  }

  #readOn(): void {
    chunk ??= Buffer.allocUnsafe(CHUNK);
    while (!this.#sealed) {
      const count = this.#fs.readSync(this.#fd, chunk, 0, CHUNK, this.#offset);
      if (count === 0) return;
      this.#offset += count;
      const bytes =
        this.#tail.length > 0 ? Buffer.concat([this.#tail, chunk.subarray(0, count)]) : chunk.subarray(0, count);
      const end = bytes.lastIndexOf(0x0a);
      this.#tail = Buffer.from(bytes.subarray(end + 1));
      if (end >= 0) this.#fold(bytes.toString('utf8', 0, end));
      // Less than was asked for: that was the end of the file.
      if (count < CHUNK) return;
    }
  }

  #fold(text: string): void {
    for (const line of text.split('\n')) {
      if (!line.endsWith(END)) continue;
      if (line === `${SEAL}${END}`) {
        this.#sealed = true;
        return;
      }
      if (line.startsWith(HEAD)) {
        this.#head = Number(line.slice(HEAD.length, -END.length)) || 0;
        continue;
      }
      if (line === this.#awaited) this.#landed = true;
      const space = line.indexOf(' ');
      this.#format.apply(this.#state, line.slice(space + 1, -END.length));
    }
  }

  #moveOn(): void {
    if (this.#files.newest() <= this.#generation) {
      const mark = `${process.pid}-${this.#stamp}${(this.#counter++).toString(36)}`;
      this.#files.publish(this.#generation + 1, this.#format.snapshot(this.#state), END, mark);
    }
    // Slept through several rotations: the newest is what the others use, whatever was just linked.
    this.#openNewest();
    // Its records are worth no more than its name: whoever linked it may have lost power before telling the disk.
    this.#files.syncFolder();
    this.#files.sweep(this.#generation);
  }
}
