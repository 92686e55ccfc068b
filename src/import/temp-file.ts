// Rows that are too many for memory, in a temporary file that nobody else can open and that is gone when the process is.
import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';

/** Pieces of one size on disk, by number. */
export class Spill {
  readonly #tempDir: string;
  readonly #size: number;
  #fd: number | undefined;
  #left: string | undefined;

  /**
   * @param tempDir where the file is made once it is needed
   * @param size of a piece, in bytes
   */
  constructor(tempDir: string, size: number) {
    this.#tempDir = tempDir;
    this.#size = size;
  }

  /**
   * @param number the piece's number, from 0
   * @param piece its bytes
   * @throws errors of the file system as they come
   */
  write(number: number, piece: Uint8Array): void {
    this.#fd ??= this.#open();
    for (let done = 0; done < piece.length; ) {
      done += writeSync(this.#fd, piece, done, piece.length - done, number * this.#size + done);
    }
  }

  /**
   * @param number the number of a piece that was written
   * @returns its bytes
   * @throws errors of the file system as they come
   */
  read(number: number): Buffer {
    const piece = Buffer.allocUnsafeSlow(this.#size);
    if (this.#fd === undefined) throw new RangeError(`there is no piece ${number}`);
    const length = readSync(this.#fd, piece, 0, this.#size, number * this.#size);
    return piece.subarray(0, length);
  }

  /** Lets go of the file. */
  close(): void {
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = undefined;
    if (this.#left !== undefined) rmSync(this.#left, { recursive: true, force: true });
  }

  // Its name is taken away at once, so that kill -9 leaves nothing behind; Windows keeps it until it is closed.
  #open(): number {
    const folder = mkdtempSync(join(this.#tempDir, 'petstore-import-'));
    const fd = openSync(join(folder, 'rows'), 'wx+', 0o600);
    try {
      rmSync(folder, { recursive: true });
    } catch {
      this.#left = folder;
    }
    return fd;
  }
}
