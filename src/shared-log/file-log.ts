// The append-only log in a file, written by many processes without a lock (docs/architecture.md).
//
// Each record is one write() to an O_APPEND descriptor, so records never interleave. A seal record ends a large segment;
// any process that reads the seal writes the next segment, which begins with a snapshot, and links it into place.
import { randomBytes } from 'node:crypto';
import * as nodeFs from 'node:fs';
import { PetstoreError } from '../errors.ts';
import { mkdirp } from '../settings/mkdirp.ts';
import { escapeControls } from '../text/escape.ts';
import type { Log, LogFormat } from './log.ts';
import { withChecksum, withoutChecksum } from './log.ts';
import type { LogFs } from './segments.ts';
import { RECORD_SUFFIX, Segments, ShortWriteError, SNAPSHOT_PREFIX, writeAll } from './segments.ts';

export interface LogOptions {
  readonly dir: string;
  /** The file's name before `.<segment>.log`. */
  readonly name: string;
  /** A segment of this size is sealed. */
  readonly rotateAtBytes: number;
  /** Whether a file that is not a log, or an unknown record, is an error; otherwise, such records are ignored. */
  readonly strict?: boolean;
  readonly fs?: LogFs | undefined;
}

const { O_APPEND, O_CREAT, O_RDWR, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = nodeFs.constants;
const SEAL = `#seal${RECORD_SUFFIX}`;
const GUARD = '~';
const CHUNK_BYTES = 64 * 1024;
// Limits the retries after concurrent rotations: an inconsistent directory would otherwise cause an endless loop.
const TRIES = 100;
// Shared scratch buffer; reads are synchronous.
let chunk: Buffer | undefined;

/** The segment in use, read up to `offset`. */
interface OpenSegment {
  readonly number: number;
  /** -1 once it is closed. */
  fd: number;
  offset: number;
  partialLine: Buffer;
  snapshotSize: number;
  isSealed: boolean;
}

export class FileLog<State, Result = void> implements Log<State> {
  readonly #format: LogFormat<State, Result>;
  readonly #files: Segments;
  readonly #options: LogOptions;
  readonly #fs: LogFs;
  readonly #stamp = randomBytes(6).toString('hex');
  #counter = 0;
  #segment: OpenSegment;
  #state: State;
  // The record being appended, and its result once it has been read back.
  #pending = '';
  #written: { readonly result: Result } | undefined;
  #damage: PetstoreError | undefined;

  /**
   * Opens the newest segment, or creates the first.
   * @throws file system errors unchanged (EACCES, ENOSPC, …); PetstoreError `storage` unless the path is this user's
   *   regular file and, with `strict`, an undamaged log
   */
  constructor(format: LogFormat<State, Result>, options: LogOptions) {
    this.#format = format;
    this.#options = options;
    this.#fs = options.fs ?? nodeFs;
    this.#state = format.initial();
    this.#files = new Segments(this.#fs, options.dir, options.name);
    this.#segment = this.#openNewest();
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
      if (!this.#segment.isSealed) return this.#state;
      this.#rotate();
    }
    throw this.#unusable('cannot be rotated', this.#segment.number);
  }

  /** Throws as the constructor does, and ShortWriteError if only part was written, which readers ignore. */
  append(record: string): Result {
    this.#ensureLinked();
    for (;;) {
      // Rotate a sealed segment; with `strict`, add no record to a damaged one.
      if (this.#segment.isSealed || this.#options.strict) this.refresh();
      const written = this.#tryAppend(record);
      if (written) {
        this.#rotateIfFull();
        return written.result;
      }
      // A record after a seal is void, so append it to the next segment.
      if (!this.#segment.isSealed)
        throw new ShortWriteError(`a record is missing from ${this.#files.path(this.#segment.number)}`);
    }
  }

  close(): void {
    if (this.#segment.fd >= 0) this.#fs.closeSync(this.#segment.fd);
    this.#segment.fd = -1;
  }

  #nextId(): string {
    return `${this.#stamp}${(this.#counter++).toString(36)}`;
  }

  // If the directory was removed, for example because it was unused, uses the log that other processes use now.
  #ensureLinked(): void {
    if (this.#fs.fstatSync(this.#segment.fd).nlink > 0) return;
    mkdirp(this.#options.dir);
    this.#switchToNewest();
  }

  #tryAppend(record: string): { readonly result: Result } | undefined {
    this.#pending = `${this.#nextId()} ${withChecksum(record)}${RECORD_SUFFIX}`;
    this.#written = undefined;
    this.#write(this.#pending);
    this.#readNew();
    return this.#written;
  }

  #switchToNewest(): void {
    const segment = this.#openNewest();
    this.close();
    this.#segment = segment;
    this.#state = this.#format.initial();
  }

  // Other processes may rotate between readdir and open, so the opened segment must still be the newest.
  #openNewest(): OpenSegment {
    for (let tries = 0; tries < TRIES; tries++) {
      const newest = this.#files.newest();
      const number = newest || 1;
      // Create only the first segment: a later one that was removed must not be created again.
      const fd = this.#open(number, newest === 0 ? O_CREAT : 0);
      if (fd !== undefined && this.#files.newest() === number)
        return { number, fd, offset: 0, partialLine: Buffer.alloc(0), snapshotSize: 0, isSealed: false };
      if (fd !== undefined) this.#fs.closeSync(fd);
    }
    throw this.#unusable('cannot be opened', this.#files.newest() || 1);
  }

  // Returns undefined if the segment was removed.
  #open(segment: number, create: number): number | undefined {
    let fd: number;
    try {
      fd = this.#fs.openSync(this.#files.path(segment), O_APPEND | O_RDWR | O_NOFOLLOW | O_NONBLOCK | create, 0o600);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT' && create === 0) return undefined;
      throw error;
    }
    const problem = this.#problemOf(fd);
    if (problem === undefined) return fd;
    this.#fs.closeSync(fd);
    throw this.#unusable(problem, segment);
  }

  // A segment begins with a guard line, which may have been torn after one byte, or with a record of its snapshot.
  #problemOf(fd: number): string | undefined {
    const stats = this.#fs.fstatSync(fd);
    if (!stats.isFile()) return 'is not a regular file';
    if (process.getuid && stats.uid !== process.getuid()) return 'is owned by another user';
    if (!this.#options.strict) return undefined;
    const start = Buffer.alloc(2);
    const begins = start.toString('latin1', 0, this.#fs.readSync(fd, start, 0, 2, 0));
    const starts = [`${GUARD}\n`, `${GUARD}${GUARD}`, SNAPSHOT_PREFIX];
    return starts.some((own) => own.startsWith(begins)) ? undefined : 'is not a petstore data file';
  }

  #unusable(problem: string, segment: number): PetstoreError {
    return new PetstoreError('storage', `${escapeControls(this.#files.path(segment))} ${problem}`, {
      hint: 'move the file to another directory',
    });
  }

  // The guard line terminates and invalidates a torn write before it, even one that lacks only its line break.
  #write(line: string): void {
    writeAll(this.#fs, this.#segment.fd, `${GUARD}\n${line}\n`);
  }

  #readNew(): void {
    if (this.#damage) throw this.#damage;
    const segment = this.#segment;
    chunk ??= Buffer.allocUnsafe(CHUNK_BYTES);
    let target = chunk;
    while (!segment.isSealed) {
      const count = this.#fs.readSync(segment.fd, target, 0, target.length, segment.offset);
      if (count === 0) return;
      segment.offset += count;
      const bytes = Buffer.concat([segment.partialLine, target.subarray(0, count)]);
      const end = bytes.lastIndexOf(0x0a);
      segment.partialLine = bytes.subarray(end + 1);
      if (end >= 0) this.#reduce(bytes.toString('utf8', 0, end));
      if (count < target.length) return;
      // Read a large remainder in one call.
      target = Buffer.allocUnsafe(this.#fs.fstatSync(segment.fd).size - segment.offset);
    }
  }

  #reduce(text: string): void {
    for (const line of text.split('\n')) {
      if (!line.endsWith(RECORD_SUFFIX)) continue;
      if (line === SEAL) {
        this.#segment.isSealed = true;
        return;
      }
      if (line.startsWith(SNAPSHOT_PREFIX)) this.#segment.snapshotSize += line.length;
      const result = this.#apply(line.slice(line.indexOf(' ') + 1, -RECORD_SUFFIX.length));
      if (line === this.#pending) this.#written = { result: result as Result };
    }
  }

  // Ignores a damaged or unknown record or, with `strict`, fails now and at every later use: the state is incomplete.
  #apply(text: string): Result | undefined {
    const record = withoutChecksum(text);
    const result = record === undefined ? undefined : this.#format.apply(this.#state, record);
    if (result !== undefined || !this.#options.strict) return result;
    this.#damage = this.#unusable('is damaged', this.#segment.number);
    throw this.#damage;
  }

  // Lets a segment grow to twice its snapshot before it is sealed: otherwise, each record would rewrite a large state.
  #rotateIfFull(): void {
    const { offset, snapshotSize, isSealed } = this.#segment;
    const isFull = offset >= Math.max(this.#options.rotateAtBytes, 2 * snapshotSize);
    if (isFull && !isSealed) this.#write(SEAL);
    if (isFull || isSealed) this.refresh();
  }

  #rotate(): void {
    const next = this.#segment.number + 1;
    if (this.#files.newest() < next)
      this.#files.publish(next, this.#format.snapshot(this.#state), `${process.pid}-${this.#nextId()}`);
    // Other processes may have rotated several times meanwhile.
    this.#switchToNewest();
    this.#files.sweep(this.#segment.number);
  }
}
