// The files of a log, one per segment: NAME.1.log, NAME.2.log and so on.
import * as nodeFs from 'node:fs';
import { join } from 'node:path';
import { PetstoreError } from '../errors.ts';
import { mkdirp } from '../settings/paths.ts';
import { escapeControls } from '../text/escape.ts';
import { FILE_STARTS } from './framing.ts';

export type LogFs = typeof nodeFs;

/** Only part of a record was written, as on a full disk; readers ignore that part. */
export class ShortWriteError extends Error {
  override readonly name = 'ShortWriteError';
  readonly code = 'ENOSPC';
}

const { O_APPEND, O_CREAT, O_RDWR, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = nodeFs.constants;
const SEGMENT_NAME = /^(.*)\.([1-9]\d{0,14})\.log$/s;
// Limits the retries after concurrent rotations: an inconsistent directory would otherwise cause an endless loop.
const MAX_TRIES = 100;
const CHUNK_BYTES = 64 * 1024;
// Shared scratch buffer; reads are synchronous.
let chunk: Buffer | undefined;

/** An open segment. Its methods throw file system errors unchanged. */
export class Segment {
  readonly number: number;
  readonly #fs: LogFs;
  readonly #path: string;
  readonly #fd: number;
  readonly #stats: nodeFs.Stats;
  #offset = 0;

  constructor(fs: LogFs, { number, path, fd }: { number: number; path: string; fd: number }) {
    this.number = number;
    this.#fs = fs;
    this.#path = path;
    this.#fd = fd;
    this.#stats = fs.fstatSync(fd);
  }

  /** The number of bytes in the lines that were read. */
  get offset(): number {
    return this.#offset;
  }

  /** The reason why the file cannot be a segment of this user's log, if there is one. */
  problem(strict: boolean): string | undefined {
    if (!this.#stats.isFile()) return 'is not a regular file';
    if (process.getuid && this.#stats.uid !== process.getuid()) return 'is owned by another user';
    if (!strict) return undefined;
    const start = Buffer.alloc(2);
    // The first write may have been torn, so the file may be shorter.
    const begins = start.toString('latin1', 0, this.#fs.readSync(this.#fd, start, 0, 2, 0));
    return FILE_STARTS.some((own) => own.startsWith(begins)) ? undefined : 'is not a petstore data file';
  }

  /** Whether the path still leads to this file: false if the file was removed or its directory renamed. */
  isInPlace(): boolean {
    try {
      const { dev, ino } = this.#fs.statSync(this.#path);
      // On Windows, Node.js may report different devices for a path and a descriptor (libuv 4698).
      return ino === this.#stats.ino && (dev === this.#stats.dev || process.platform === 'win32');
    } catch {
      return false;
    }
  }

  /** @throws ShortWriteError */
  write(text: string): void {
    const bytes = Buffer.from(text);
    const written = this.#fs.writeSync(this.#fd, bytes, 0, bytes.length, null);
    if (written !== bytes.length) throw new ShortWriteError(`only ${written} of ${bytes.length} bytes were written`);
  }

  /** Returns the lines that were completed since the last call. */
  readLines(): string[] {
    chunk ??= Buffer.allocUnsafe(CHUNK_BYTES);
    let bytes = chunk;
    let count = this.#fs.readSync(this.#fd, bytes, 0, bytes.length, this.#offset);
    while (count === bytes.length) {
      // Read all that is left in one call, and one byte more, which shows the end of the file.
      bytes = Buffer.allocUnsafe(this.#fs.fstatSync(this.#fd).size - this.#offset + 1);
      count = this.#fs.readSync(this.#fd, bytes, 0, bytes.length, this.#offset);
    }
    const end = count === 0 ? -1 : bytes.lastIndexOf(0x0a, count - 1);
    // The next call reads an unfinished line again.
    this.#offset += end + 1;
    return end < 0 ? [] : bytes.toString('utf8', 0, end).split('\n');
  }

  close(): void {
    this.#fs.closeSync(this.#fd);
  }
}

export interface SegmentsOptions {
  readonly dir: string;
  /** The file's name before `.<segment>.log`. */
  readonly name: string;
  /** True if a foreign file and a damaged or unknown record are errors; otherwise, such a record is ignored. */
  readonly strict?: boolean;
  readonly fs?: LogFs | undefined;
}

/** All segments of a log. Its methods throw file system errors unchanged. */
export class Segments {
  readonly #options: SegmentsOptions;
  readonly #fs: LogFs;

  constructor(options: SegmentsOptions) {
    this.#options = options;
    this.#fs = options.fs ?? nodeFs;
  }

  /**
   * Opens the newest segment; creates the one after segment `after` if that is the newest, or the first if there is none,
   * with the mode 0600 in a directory of the mode 0700.
   * @throws PetstoreError `storage` unless the file is this user's regular file and, with `strict`, a log
   */
  openNewest(after = 0): Segment {
    mkdirp(this.#options.dir);
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const newest = this.#newest();
      // A lower number than `after` belongs to another log, which has replaced this one.
      const number = newest === after ? after + 1 : newest || 1;
      const segment = this.open(number, number > newest ? O_CREAT : 0);
      // Other processes may have created later segments, and removed this one, before it was opened.
      if (segment && this.#newest() === number) return segment;
      segment?.close();
    }
    throw this.error('cannot be opened', this.#newest() || 1);
  }

  /** Opens a segment as `openNewest` does. Returns undefined if it was removed. */
  open(number: number, create = 0): Segment | undefined {
    const path = this.#path(number);
    let fd: number;
    try {
      fd = this.#fs.openSync(path, O_APPEND | O_RDWR | O_NOFOLLOW | O_NONBLOCK | create, 0o600);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT' && create === 0) return undefined;
      throw error;
    }
    const segment = new Segment(this.#fs, { number, path, fd });
    const problem = segment.problem(this.#options.strict ?? false);
    if (problem === undefined) return segment;
    segment.close();
    throw this.error(problem, number);
  }

  /** Removes all segments before `current` except the newest of them, which other processes may still read. */
  removeBefore(current: number): void {
    for (const number of this.#numbers().filter((one) => one < current - 1)) {
      try {
        this.#fs.unlinkSync(this.#path(number));
      } catch {
        // The file is gone, or open on Windows; the next rotation tries again.
      }
    }
  }

  error(problem: string, number: number): PetstoreError {
    return new PetstoreError('storage', `"${escapeControls(this.#path(number))}" ${problem}`, {
      hint: 'move the file to another directory',
    });
  }

  #path(number: number): string {
    return join(this.#options.dir, `${this.#options.name}.${number}.log`);
  }

  /** The number of the newest segment; 0 if there is none. */
  #newest(): number {
    return Math.max(0, ...this.#numbers());
  }

  // Lets the file system compare names: on Windows and macOS, `pets.1.log` also finds a file that is listed as `Pets.1.log`.
  #numbers(): number[] {
    return this.#fs.readdirSync(this.#options.dir).flatMap((listed) => {
      const [, name, digits] = SEGMENT_NAME.exec(listed) ?? [];
      const number = Number(digits);
      const isOwn = name === this.#options.name || (name !== undefined && this.#fs.existsSync(this.#path(number)));
      return isOwn ? [number] : [];
    });
  }
}
