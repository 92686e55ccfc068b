// The files of a log: one per generation, each beginning with what the one before it came to.
import type * as nodeFs from 'node:fs';
import { join } from 'node:path';
import { mkdirp } from './mkdirp.ts';

/** The part of `node:fs` that the log uses. */
export type LogFs = Pick<
  typeof nodeFs,
  | 'openSync'
  | 'closeSync'
  | 'readSync'
  | 'writeSync'
  | 'fsyncSync'
  | 'fdatasyncSync'
  | 'fdatasync'
  | 'mkdirSync'
  | 'readdirSync'
  | 'linkSync'
  | 'unlinkSync'
>;

/** A record reached the file in part only, as on a full disk. It counts for nobody. */
export class ShortWriteError extends Error {
  override readonly name = 'ShortWriteError';
  readonly code = 'ENOSPC';
}

const HEAD = '#head ';
const CHUNK = 64 * 1024;

/** The files of one log, in one folder. */
export class Generations {
  readonly #fs: LogFs;
  readonly #dir: string;
  readonly #name: string;
  readonly #durable: boolean;

  /**
   * @param fs the file system
   * @param dir the folder; made with mode 0700 where it is missing
   * @param name the files' name before `.<generation>.log`
   * @param durable whether a new generation reaches the disk before it is linked
   */
  constructor(fs: LogFs, dir: string, name: string, durable: boolean) {
    this.#fs = fs;
    this.#dir = dir;
    this.#name = name;
    this.#durable = durable;
    mkdirp(dir, fs);
  }

  /** @returns where a generation lies */
  path(generation: number): string {
    return join(this.#dir, `${this.#name}.${generation}.log`);
  }

  /** @returns the number of the newest generation; 0 where there is none */
  newest(): number {
    return Math.max(0, ...this.#entries('.log').map(([generation]) => generation));
  }

  /**
   * Writes a generation under a name of its own and links it into place: it is there whole, or not at all.
   * @param generation its number
   * @param records what it begins with, each line without its end
   * @param end what ends a record
   * @param mark tells this draft from every other
   */
  publish(generation: number, records: Iterable<string>, end: string, mark: string): void {
    const draft = `${this.path(generation)}.${mark}.tmp`;
    try {
      this.#write(draft, records, end);
      this.#fs.linkSync(draft, this.path(generation));
    } catch (error) {
      // Somebody else was quicker, and their file says the same; or so much quicker that they swept our draft away.
      const code = (error as NodeJS.ErrnoException).code;
      if (code !== 'EEXIST' && code !== 'ENOENT') throw error;
    } finally {
      this.#remove(draft);
    }
  }

  /**
   * Removes what nobody reads any more. The generation before stays: a process that was asleep still finds its seal there.
   * @param current the generation in use
   */
  sweep(current: number): void {
    for (const [generation, name] of this.#entries('.log')) {
      if (generation < current - 1) this.#remove(join(this.#dir, name));
    }
    // Left behind by processes that were killed while they wrote.
    for (const [generation, name] of this.#entries('.tmp')) {
      if (generation < current) this.#remove(join(this.#dir, name));
    }
  }

  /** Makes the names in the folder survive a power failure, in a durable log. */
  syncFolder(): void {
    if (!this.#durable || process.platform === 'win32') return;
    const fd = this.#fs.openSync(this.#dir, 'r');
    try {
      this.#fs.fsyncSync(fd);
    } finally {
      this.#fs.closeSync(fd);
    }
  }

  #entries(ending: '.log' | '.tmp'): [generation: number, name: string][] {
    const prefix = `${this.#name}.`;
    return (this.#fs.readdirSync(this.#dir) as string[]).flatMap((name): [number, string][] => {
      if (!name.startsWith(prefix) || !name.endsWith(ending)) return [];
      const [, generation] = /^([1-9]\d{0,14})\.log(?:\.[\w-]+\.tmp)?$/.exec(name.slice(prefix.length)) ?? [];
      return generation === undefined ? [] : [[Number(generation), name]];
    });
  }

  #write(draft: string, records: Iterable<string>, end: string): void {
    const fd = this.#fs.openSync(draft, 'wx', 0o600);
    try {
      let lines = '';
      let bytes = 0;
      for (const record of records) {
        lines += `0 ${record}${end}\n`;
        if (lines.length < CHUNK) continue;
        bytes += this.#writeAll(fd, lines);
        lines = '';
      }
      bytes += this.#writeAll(fd, lines);
      this.#writeAll(fd, `${HEAD}${bytes}${end}\n`);
      if (this.#durable) this.#fs.fsyncSync(fd);
    } finally {
      this.#fs.closeSync(fd);
    }
  }

  #writeAll(fd: number, text: string): number {
    const bytes = Buffer.from(text);
    for (let done = 0; done < bytes.length; ) {
      const written = this.#fs.writeSync(fd, bytes, done, bytes.length - done, null);
      if (written === 0) throw new ShortWriteError('the next generation could not be written');
      done += written;
    }
    return bytes.length;
  }

  #remove(path: string): void {
    try {
      this.#fs.unlinkSync(path);
    } catch {
      // Gone already, or held open on Windows: the next rotation tries again.
    }
  }
}
