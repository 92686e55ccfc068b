// The files of a log, one per segment: NAME.1.log, NAME.2.log and so on.
import * as nodeFs from 'node:fs';
import { join } from 'node:path';
import { PetstoreError } from '../errors.ts';
import { mkdirp } from '../settings/mkdirp.ts';
import { escapeControls } from '../text/escape.ts';
import { FILE_STARTS } from './framing.ts';

export type LogFs = typeof nodeFs;

/** Only part of a record was written, as on a full disk; readers ignore that part. */
export class ShortWriteError extends Error {
  override readonly name = 'ShortWriteError';
  readonly code = 'ENOSPC';
}

export interface SegmentFile {
  readonly number: number;
  readonly fd: number;
  readonly device: number;
  readonly inode: number;
}

const { O_APPEND, O_CREAT, O_RDWR, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = nodeFs.constants;
const SEGMENT_NAME = /^(.*)\.([1-9]\d{0,14})\.log$/s;
// Limits the retries after concurrent rotations: an inconsistent directory would otherwise cause an endless loop.
const TRIES = 100;

/** The segments of one log, in a directory that is created with mode 0700. Its methods throw file system errors unchanged. */
export class Segments {
  readonly #fs: LogFs;
  readonly #dir: string;
  readonly #name: string;
  readonly #strict: boolean;

  /** @param place `strict`: a file that does not begin as a log is an error */
  constructor(fs: LogFs, { dir, name, strict = false }: { dir: string; name: string; strict?: boolean }) {
    this.#fs = fs;
    this.#dir = dir;
    this.#name = name;
    this.#strict = strict;
  }

  /**
   * Opens the newest segment; creates the one after segment `after` if that is the newest, or the first if there is none.
   * @throws PetstoreError `storage` unless the file is this user's regular file and, with `strict`, a log
   */
  openNewest(after = 0): SegmentFile {
    mkdirp(this.#dir);
    for (let tries = 0; tries < TRIES; tries++) {
      const newest = this.#newest();
      // A lower number than `after` belongs to another log, which has replaced this one.
      const number = newest === after ? after + 1 : newest || 1;
      const file = this.open(number, number > newest ? O_CREAT : 0);
      // Other processes may have created later segments, and removed this one, before it was opened.
      if (file && this.#newest() === number) return file;
      if (file) this.#fs.closeSync(file.fd);
    }
    throw this.error('cannot be opened', this.#newest() || 1);
  }

  /** Opens a segment as `openNewest` does. Returns undefined if it was removed. */
  open(number: number, create = 0): SegmentFile | undefined {
    let fd: number;
    try {
      fd = this.#fs.openSync(this.#path(number), O_APPEND | O_RDWR | O_NOFOLLOW | O_NONBLOCK | create, 0o600);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT' && create === 0) return undefined;
      throw error;
    }
    const stats = this.#fs.fstatSync(fd);
    const problem = this.#problemOf(fd, stats);
    if (problem === undefined) return { number, fd, device: stats.dev, inode: stats.ino };
    this.#fs.closeSync(fd);
    throw this.error(problem, number);
  }

  /** Whether the path of a segment still leads to the file: not if the file was removed, or its directory renamed. */
  isInPlace({ number, device, inode }: SegmentFile): boolean {
    try {
      const { dev, ino } = this.#fs.statSync(this.#path(number));
      // On Windows, Node.js may report different devices for a path and a descriptor (libuv 4698).
      return ino === inode && (dev === device || process.platform === 'win32');
    } catch {
      return false;
    }
  }

  /** Removes all segments before `current` but the last of them: other processes may still read it. */
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
    return new PetstoreError('storage', `${escapeControls(this.#path(number))} ${problem}`, {
      hint: 'move the file to another directory',
    });
  }

  #path(number: number): string {
    return join(this.#dir, `${this.#name}.${number}.log`);
  }

  /** 0 if there is no segment. */
  #newest(): number {
    return Math.max(0, ...this.#numbers());
  }

  // The file system compares names: on Windows and macOS, `pets.1.log` also finds a file that is listed as `Pets.1.log`.
  #numbers(): number[] {
    return this.#fs.readdirSync(this.#dir).flatMap((listed) => {
      const [, name, digits] = SEGMENT_NAME.exec(listed) ?? [];
      const number = Number(digits);
      const isOwn = name === this.#name || (name !== undefined && this.#fs.existsSync(this.#path(number)));
      return isOwn ? [number] : [];
    });
  }

  #problemOf(fd: number, stats: nodeFs.Stats): string | undefined {
    if (!stats.isFile()) return 'is not a regular file';
    if (process.getuid && stats.uid !== process.getuid()) return 'is owned by another user';
    if (!this.#strict) return undefined;
    const start = Buffer.alloc(2);
    // The first write may have been torn, so the file may be shorter.
    const begins = start.toString('latin1', 0, this.#fs.readSync(fd, start, 0, 2, 0));
    return FILE_STARTS.some((own) => own.startsWith(begins)) ? undefined : 'is not a petstore data file';
  }
}
