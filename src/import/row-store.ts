// The rows of one import, held compactly, beyond some megabytes on disk, with a digest that names the import.
import type { Hash } from 'node:crypto';
import { createHash } from 'node:crypto';
import type { NewCategory } from '../api/types.ts';
import { Spill } from './temp-file.ts';

// Neither byte occurs in UTF-8: no text can hold them, so the bytes say where a field and a row end.
const FIELD = 0xff;
const END = 0xfe;
const CHUNK_BITS = 22;
const CHUNK = 2 ** CHUNK_BITS;
/** How many chunks stay in memory while rows are read. */
const KEPT = 4;

/** Rows in the order of the file, numbered from 0 here; users count from 1. */
export class RowStore {
  /** Chunks in memory by number: the newest, and the one on disk that was read last. */
  readonly #chunks = new Map<number, Buffer>();
  readonly #spill: Spill | undefined;
  #newest = -1;
  #spilt = 0;
  readonly #hash: Hash = createHash('sha256');
  #starts = new Uint32Array(1024);
  #used = 0;
  #count = 0;
  #digest: string | undefined;

  /** @param tempDir where rows go that are too many for memory; without it all of them stay there */
  constructor(tempDir?: string) {
    this.#spill = tempDir === undefined ? undefined : new Spill(tempDir, CHUNK);
  }

  /** @returns how many rows there are */
  get count(): number {
    return this.#count;
  }

  /**
   * Appends one row.
   * @param name the category's name
   * @param description left out where the row has none; an empty text is one
   * @throws RangeError once `digest` was asked for, and for a row of more than 4 MB
   */
  add(name: string, description: string | undefined): void {
    if (this.#digest !== undefined) throw new RangeError('the rows are complete');
    const most = 3 * (name.length + (description?.length ?? 0)) + 2;
    if (most > CHUNK) throw new RangeError('the row is too long');
    let chunk = this.#chunks.get(this.#newest);
    if (!chunk || this.#used + most > CHUNK) chunk = this.#grow();
    if (this.#count === this.#starts.length) {
      const wider = new Uint32Array(2 * this.#count);
      wider.set(this.#starts);
      this.#starts = wider;
    }
    this.#starts[this.#count++] = this.#newest * CHUNK + this.#used;
    let at = this.#used + chunk.write(name, this.#used);
    if (description !== undefined) {
      chunk[at++] = FIELD;
      at += chunk.write(description, at);
    }
    chunk[at++] = END;
    this.#used = at;
  }

  #grow(): Buffer {
    this.#seal();
    const chunk = Buffer.allocUnsafeSlow(CHUNK);
    this.#chunks.set(++this.#newest, chunk);
    this.#used = 0;
    if (this.#spill && this.#chunks.size > KEPT) {
      this.#spill.write(this.#spilt, this.#chunks.get(this.#spilt) as Buffer);
      this.#chunks.delete(this.#spilt++);
    }
    return chunk;
  }

  #seal(): void {
    const chunk = this.#chunks.get(this.#newest);
    if (chunk) this.#hash.update(chunk.subarray(0, this.#used));
  }

  #chunk(number: number): Buffer {
    const there = this.#chunks.get(number);
    if (there || !this.#spill) return there as Buffer;
    for (const other of this.#chunks.keys()) if (other < this.#spilt) this.#chunks.delete(other);
    const chunk = this.#spill.read(number);
    this.#chunks.set(number, chunk);
    return chunk;
  }

  /**
   * @param row its number from 0
   * @returns the row as it is sent
   * @throws RangeError where there is no such row
   */
  get(row: number): NewCategory {
    if (!(row >= 0 && row < this.#count)) throw new RangeError(`there is no row ${row}`);
    const start = this.#starts[row] as number;
    const chunk = this.#chunk(start >>> CHUNK_BITS);
    const from = start & (CHUNK - 1);
    const end = chunk.indexOf(END, from);
    const split = chunk.subarray(from, end).indexOf(FIELD);
    if (split < 0) return { name: chunk.toString('utf8', from, end) };
    return {
      name: chunk.toString('utf8', from, from + split),
      description: chunk.toString('utf8', from + split + 1, end),
    };
  }

  /** @returns what names this import: the same rows in the same order give the same digest, whatever the format; hex */
  digest(): string {
    if (this.#digest === undefined) {
      this.#seal();
      this.#digest = this.#hash.digest('hex');
    }
    return this.#digest;
  }

  /** Lets go of what is on disk; no row can be asked for after. */
  close(): void {
    this.#spill?.close();
  }

  /** @returns how many rows have a name that an earlier row has too */
  repeatedNames(): number {
    const hashes = new Float64Array(this.#count);
    for (let row = 0; row < this.#count; row++) hashes[row] = hash53(this.get(row).name);
    hashes.sort();
    let repeated = 0;
    for (let row = 1; row < hashes.length; row++) if (hashes[row] === hashes[row - 1]) repeated++;
    return repeated;
  }
}

// 53 bits (cyrb53): for a count that only a notice tells, a set of a million strings would cost 100 MB.
function hash53(text: string): number {
  let a = 0xdeadbeef;
  let b = 0x41c6ce57;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    a = Math.imul(a ^ unit, 2654435761);
    b = Math.imul(b ^ unit, 1597334677);
  }
  a = Math.imul(a ^ (a >>> 16), 2246822507) ^ Math.imul(b ^ (b >>> 13), 3266489909);
  b = Math.imul(b ^ (b >>> 16), 2246822507) ^ Math.imul(a ^ (a >>> 13), 3266489909);
  return 4294967296 * (2097151 & b) + (a >>> 0);
}
