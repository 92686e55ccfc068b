// The files of a log: one per segment; each but the first begins with a snapshot of the state.
import type * as nodeFs from 'node:fs';
import { join } from 'node:path';
import { mkdirp } from '../settings/mkdirp.ts';
import { withChecksum } from './log.ts';

export type LogFs = typeof nodeFs;

/** Only part of a record was written, as on a full disk. The partial record is ignored. */
export class ShortWriteError extends Error {
  override readonly name = 'ShortWriteError';
  readonly code = 'ENOSPC';
}

/** @throws ShortWriteError; file system errors unchanged */
export function writeAll(fs: LogFs, fd: number, text: string): void {
  const bytes = Buffer.from(text);
  const written = fs.writeSync(fd, bytes, 0, bytes.length, null);
  if (written !== bytes.length) throw new ShortWriteError(`only ${written} of ${bytes.length} bytes were written`);
}

/** Ends every record of a log; a line without it is a torn write. */
export const RECORD_SUFFIX = ' .';
/** Begins every record of a snapshot. */
export const SNAPSHOT_PREFIX = '0 ';

const FILE_NAME = /^(.*)(\.([1-9]\d{0,14})\.log(?:\.[\w-]+\.tmp)?)$/s;
const CLAIM_WAITS = 100;
const CLAIM_WAIT_MS = 5;
// Errors of link(2) on file systems without hard links: exFAT (on Windows EISDIR), some network and FUSE mounts.
const NO_HARD_LINKS = new Set(['EISDIR', 'EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK']);

/** The files of one log, in a directory that is created with mode 0700. */
export class Segments {
  readonly #fs: LogFs;
  readonly #dir: string;
  readonly #name: string;

  constructor(fs: LogFs, dir: string, name: string) {
    this.#fs = fs;
    this.#dir = dir;
    this.#name = name;
    mkdirp(dir);
  }

  path(segment: number): string {
    return join(this.#dir, `${this.#name}.${segment}.log`);
  }

  /** Returns the number of the newest segment; 0 if there is none. */
  newest(): number {
    const complete = this.#entries().filter(([, name]) => name.endsWith('.log'));
    return Math.max(0, ...complete.map(([segment]) => segment));
  }

  /**
   * Writes a segment under a unique draft name and links it into place, so it exists completely or not at all.
   * @param mark makes the draft's name unique
   */
  publish(segment: number, records: Iterable<string>, mark: string): void {
    const draft = `${this.path(segment)}.${mark}.tmp`;
    try {
      this.#write(draft, records);
      this.#link(draft, segment);
    } catch (error) {
      // Another process published the same segment first, or removed this draft.
      const { code } = error as NodeJS.ErrnoException;
      if (code !== 'EEXIST' && code !== 'ENOENT') throw error;
    } finally {
      this.#remove(draft);
    }
  }

  /** Removes older segments and abandoned drafts, except the previous segment: other processes may still read its seal. */
  sweep(current: number): void {
    const old = this.#entries().filter(([segment]) => segment < current - 1);
    for (const [, name] of old) this.#remove(join(this.#dir, name));
  }

  // Unlike a link, a rename would replace the segment of another process, so one process at a time checks and renames.
  #link(draft: string, segment: number): void {
    const path = this.path(segment);
    try {
      this.#fs.linkSync(draft, path);
    } catch (error) {
      if (!NO_HARD_LINKS.has((error as NodeJS.ErrnoException).code ?? '')) throw error;
      this.#claim(`${path}.claim.tmp`);
      if (this.newest() < segment) this.#fs.renameSync(draft, path);
      this.#remove(`${path}.claim.tmp`);
    }
  }

  // A claim that lasts longer than half a second belongs to a process that was killed or stopped.
  #claim(path: string): void {
    for (let waits = 0; waits < CLAIM_WAITS; waits++) {
      try {
        this.#fs.closeSync(this.#fs.openSync(path, 'wx', 0o600));
        return;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      }
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, CLAIM_WAIT_MS);
    }
  }

  // Names in this log's spelling: a case-insensitive file system finds `pets.1.log` although it lists `Pets.1.log`.
  #entries(): [segment: number, name: string][] {
    return this.#fs.readdirSync(this.#dir).flatMap((listed): [number, string][] => {
      const [, own = '', rest = '', segment] = FILE_NAME.exec(listed) ?? [];
      const name = `${this.#name}${rest}`;
      if (fold(own) !== fold(this.#name)) return [];
      return own === this.#name || this.#fs.existsSync(join(this.#dir, name)) ? [[Number(segment), name]] : [];
    });
  }

  #write(draft: string, records: Iterable<string>): void {
    const lines = Array.from(records, (record) => `${SNAPSHOT_PREFIX}${withChecksum(record)}${RECORD_SUFFIX}\n`);
    const fd = this.#fs.openSync(draft, 'wx', 0o600);
    try {
      writeAll(this.#fs, fd, lines.join(''));
    } finally {
      this.#fs.closeSync(fd);
    }
  }

  #remove(path: string): void {
    try {
      this.#fs.unlinkSync(path);
    } catch {
      // The file is gone, or open on Windows; the next rotation tries again.
    }
  }
}

function fold(name: string): string {
  return name.normalize('NFC').toLowerCase();
}
