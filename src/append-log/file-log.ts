// The append-only log in a file, written by many processes without a lock (docs/architecture.md).
//
// Each record is one write() to an O_APPEND descriptor, so records never interleave. A large log is ended by a seal record;
// any process that reads the seal writes the next segment, which begins with a snapshot, and links it into place.
import { randomBytes } from 'node:crypto';
import * as nodeFs from 'node:fs';
import { PetstoreError } from '../errors.ts';
import { escapeControls } from '../escape.ts';
import type { Log, LogFormat } from './log.ts';
import { withChecksum, withoutChecksum } from './log.ts';
import { mkdirp } from './mkdirp.ts';
import type { LogFs } from './segments.ts';
import { RECORD_END, Segments, ShortWriteError, SNAPSHOT, writeWhole } from './segments.ts';

export interface LogOptions {
  readonly dir: string;
  /** The file's name before `.<segment>.log`. */
  readonly name: string;
  /** A segment of this size is sealed. */
  readonly rotateAtBytes: number;
  /** Whether a file or record that petstore did not write is an error; otherwise it is ignored. */
  readonly strict?: boolean;
  readonly fs?: LogFs | undefined;
}

const { O_APPEND, O_CREAT, O_RDWR, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = nodeFs.constants;
const SEAL = `#seal${RECORD_END}`;
const GUARD = '~';
const CHUNK_BYTES = 64 * 1024;
// Limits the retries after concurrent rotations: an inconsistent directory would otherwise cause an endless loop.
const TRIES = 100;
// Shared scratch buffer; reads are synchronous.
let chunk: Buffer | undefined;

export class FileLog<State, Result = void> implements Log<State> {
  readonly #format: LogFormat<State, Result>;
  readonly #files: Segments;
  readonly #options: LogOptions;
  readonly #fs: LogFs;
  readonly #stamp = randomBytes(6).toString('hex');
  #counter = 0;
  #segment = 0;
  #fd = -1;
  #offset = 0;
  #snapshotSize = 0;
  #tail: Buffer = Buffer.alloc(0);
  #sealed = false;
  #state: State;
  // The record being appended, and its result once it was read back.
  #pending = '';
  #written: { readonly result: Result } | undefined;
  #damage: PetstoreError | undefined;

  /**
   * Opens the newest segment, or creates the first.
   * @throws file system errors unchanged (EACCES, EROFS, ENOSPC, …); PetstoreError `storage` if the path is not a regular file
   *   or, with `strict`, not a log or damaged
   */
  constructor(format: LogFormat<State, Result>, options: LogOptions) {
    this.#format = format;
    this.#options = options;
    this.#fs = options.fs ?? nodeFs;
    this.#state = format.initial();
    this.#files = new Segments(this.#fs, options.dir, options.name);
    this.#openNewest();
    this.refresh();
  }

  cached(): State {
    return this.#state;
  }

  freshState(): State {
    return this.refresh();
  }

  refresh(): State {
    this.#ensureLinked();
    for (let tries = 0; tries < TRIES; tries++) {
      this.#readNew();
      if (!this.#sealed) return this.#state;
      this.#rotate();
    }
    throw this.#unusable('cannot be rotated', this.#segment);
  }

  /** @throws ShortWriteError if only part of the record was written (readers ignore that part); file system errors unchanged */
  append(record: string): Result {
    this.#ensureLinked();
    for (;;) {
      // Add no record to a damaged file.
      if (this.#sealed || this.#options.strict) this.refresh();
      const written = this.#tryAppend(
        `${this.#stamp}${(this.#counter++).toString(36)} ${withChecksum(record)}${RECORD_END}`,
      );
      if (written) {
        // Let the segment double before its seal, or a large state would be written again at every record.
        const full = this.#offset >= Math.max(this.#options.rotateAtBytes, 2 * this.#snapshotSize);
        if (full && !this.#sealed) this.#write(SEAL);
        if (full || this.#sealed) this.refresh();
        return written.result;
      }
      // A record after a seal is void, so append it to the next segment.
      if (!this.#sealed) throw new ShortWriteError(`a record is missing from ${this.#files.path(this.#segment)}`);
    }
  }

  close(): void {
    if (this.#fd >= 0) this.#fs.closeSync(this.#fd);
    this.#fd = -1;
  }

  // If the directory was removed, for example because it was unused, uses the log that other processes use now.
  #ensureLinked(): void {
    if (this.#fs.fstatSync(this.#fd).nlink > 0) return;
    mkdirp(this.#options.dir);
    this.#openNewest();
  }

  #tryAppend(line: string): { readonly result: Result } | undefined {
    this.#pending = line;
    this.#written = undefined;
    this.#write(line);
    this.#readNew();
    return this.#written;
  }

  // Other processes may rotate between readdir and open, so the opened segment must still be the newest.
  #openNewest(): void {
    for (let tries = 0; tries < TRIES; tries++) {
      if (this.#open(this.#files.newest()) && this.#files.newest() === this.#segment) return;
    }
    throw this.#unusable('cannot be opened', this.#files.newest() || 1);
  }

  // Creates only the first segment: a later one that was removed must not be created again.
  #open(segment: number): boolean {
    const flags = O_APPEND | O_RDWR | O_NOFOLLOW | O_NONBLOCK | (segment === 0 ? O_CREAT : 0);
    let fd: number;
    try {
      fd = this.#fs.openSync(this.#files.path(segment || 1), flags, 0o600);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT' && segment > 0) return false;
      throw error;
    }
    const problem = this.#problemOf(fd);
    if (problem) {
      this.#fs.closeSync(fd);
      throw this.#unusable(problem, segment || 1);
    }
    this.close();
    this.#fd = fd;
    this.#segment = segment || 1;
    this.#offset = 0;
    this.#snapshotSize = 0;
    this.#tail = Buffer.alloc(0);
    this.#sealed = false;
    this.#state = this.#format.initial();
    return true;
  }

  // A segment begins with a guard line, which may have been torn after one byte, or with a record of its snapshot.
  #problemOf(fd: number): string | undefined {
    const stats = this.#fs.fstatSync(fd);
    if (!stats.isFile()) return 'is not a regular file';
    if (process.getuid && stats.uid !== process.getuid()) return 'is owned by another user';
    if (!this.#options.strict) return undefined;
    const start = Buffer.alloc(2);
    const begins = start.toString('latin1', 0, this.#fs.readSync(fd, start, 0, 2, 0));
    const starts = [`${GUARD}\n`, `${GUARD}${GUARD}`, SNAPSHOT];
    return starts.some((own) => own.startsWith(begins)) ? undefined : 'is not a petstore data file';
  }

  #unusable(problem: string, segment: number): PetstoreError {
    return new PetstoreError('storage', `${escapeControls(this.#files.path(segment))} ${problem}`, {
      hint: 'move the file to another directory',
    });
  }

  // The guard line terminates and invalidates a torn write before it, even one that lacks only its line break.
  #write(line: string): void {
    writeWhole(this.#fs, this.#fd, `${GUARD}\n${line}\n`);
  }

  #readNew(): void {
    if (this.#damage) throw this.#damage;
    chunk ??= Buffer.allocUnsafe(CHUNK_BYTES);
    for (let target = chunk; !this.#sealed; target = this.#bufferForRest()) {
      const count = this.#fs.readSync(this.#fd, target, 0, target.length, this.#offset);
      if (count === 0) return;
      this.#offset += count;
      const bytes = Buffer.concat([this.#tail, target.subarray(0, count)]);
      const end = bytes.lastIndexOf(0x0a);
      this.#tail = bytes.subarray(end + 1);
      if (end >= 0) this.#reduce(bytes.toString('utf8', 0, end));
      if (count < target.length) return;
    }
  }

  #bufferForRest(): Buffer {
    return Buffer.allocUnsafe(this.#fs.fstatSync(this.#fd).size - this.#offset);
  }

  #reduce(text: string): void {
    for (const line of text.split('\n')) {
      if (!line.endsWith(RECORD_END)) continue;
      if (line === SEAL) {
        this.#sealed = true;
        return;
      }
      if (line.startsWith(SNAPSHOT)) this.#snapshotSize += line.length;
      const result = this.#apply(line.slice(line.indexOf(' ') + 1, -RECORD_END.length));
      if (line === this.#pending) this.#written = { result: result as Result };
    }
  }

  // Ignores a damaged or unknown record or, with `strict`, fails now and at every later use: the state is incomplete.
  #apply(text: string): Result | undefined {
    const record = withoutChecksum(text);
    const result = record === undefined ? undefined : this.#format.apply(this.#state, record);
    if (result !== undefined || !this.#options.strict) return result;
    this.#damage = this.#unusable('is damaged', this.#segment);
    throw this.#damage;
  }

  #rotate(): void {
    if (this.#files.newest() <= this.#segment) {
      const mark = `${process.pid}-${this.#stamp}${(this.#counter++).toString(36)}`;
      this.#files.publish(this.#segment + 1, this.#format.snapshot(this.#state), mark);
    }
    // Other processes may have rotated several times meanwhile.
    this.#openNewest();
    this.#files.sweep(this.#segment);
  }
}
