// The append-only log in files, written by many processes without a lock (docs/architecture.md shows a rotation).
//
// Each record is one write() to an O_APPEND descriptor, so records never interleave. A record counts if it stands between the
// snapshot and the seal of its segment, so its writer reads it back. Any process that has read the seal writes the snapshot of
// the next segment. If several do, all write the same state, and readers use the first.
import { randomBytes } from 'node:crypto';
import * as nodeFs from 'node:fs';
import type { Clock } from '../clock.ts';
import { systemClock } from '../clock.ts';
import type { PetstoreError } from '../errors.ts';
import { OLD_SNAPSHOT_ID, parseLine, recordFrame, SEAL_FRAME, snapshotFrame } from './framing.ts';
import type { Log, LogFormat } from './log.ts';
import type { LogFs, SegmentFile } from './segments.ts';
import { Segments, ShortWriteError } from './segments.ts';

export interface LogOptions {
  readonly dir: string;
  /** The file's name before `.<segment>.log`. */
  readonly name: string;
  /** A segment of this size is sealed. */
  readonly rotateAtBytes: number;
  /** Whether a file that is not a log, or an unknown record, is an error; otherwise, such records are ignored. */
  readonly strict?: boolean;
  readonly fs?: LogFs | undefined;
  readonly clock?: Clock | undefined;
}

/**
 * How often, at most, a log checks that its files are still in place, in milliseconds. What is written in this time after
 * the directory was renamed or removed, no other process sees; a check before each use would cost a tenth of an import.
 */
export const CHECK_EVERY_MS = 10;
const CHUNK_BYTES = 64 * 1024;
// Limits the steps to the newest segment: an inconsistent directory would otherwise cause an endless loop.
const STEPS = 100;
// Shared scratch buffer; reads are synchronous.
let chunk: Buffer | undefined;

/** The segment in use, read up to `offset`. */
interface OpenSegment {
  readonly file: SegmentFile;
  /** `empty`: its snapshot is still missing. Each segment but the first begins so. */
  phase: 'empty' | 'open' | 'sealed';
  offset: number;
  partialLine: Buffer;
  snapshotSize: number;
  /** Only with `strict`; the state is incomplete. */
  damage: PetstoreError | undefined;
}

export class FileLog<State, Result = void> implements Log<State> {
  readonly #format: LogFormat<State, Result>;
  readonly #options: LogOptions;
  readonly #fs: LogFs;
  readonly #clock: Clock;
  readonly #segments: Segments;
  readonly #stamp = randomBytes(6).toString('hex');
  #counter = 0;
  #segment: OpenSegment;
  #state: State;
  #checkedAt: number;
  #isClosed = false;

  /**
   * Opens the newest segment, or creates the first.
   * @throws file system errors unchanged (EACCES, ENOSPC, …); PetstoreError `storage` unless the path is this user's
   *   regular file and, with `strict`, an undamaged log
   */
  constructor(format: LogFormat<State, Result>, options: LogOptions) {
    this.#format = format;
    this.#options = options;
    this.#fs = options.fs ?? nodeFs;
    this.#clock = options.clock ?? systemClock;
    this.#segments = new Segments(this.#fs, options);
    this.#state = format.initial();
    this.#segment = unread(this.#segments.openNewest());
    this.#checkedAt = this.#clock.now();
    this.#catchUp();
  }

  cached(): State {
    return this.#state;
  }

  freshState(): State {
    return this.refresh();
  }

  /** Throws as the constructor does. */
  refresh(): State {
    this.#stayInPlace();
    this.#catchUp();
    return this.#state;
  }

  /** Throws as the constructor does, and ShortWriteError if only part was written, which readers ignore. */
  append(record: string): Result {
    this.#stayInPlace();
    for (;;) {
      // Nothing is added to a damaged log, nor to a segment without a snapshot.
      if (this.#options.strict || this.#segment.phase !== 'open') this.#catchUp();
      const id = `${this.#stamp}${(this.#counter++).toString(36)}`;
      this.#write(recordFrame(id, record));
      const own = this.#read(id);
      if (own) {
        this.#sealIfFull();
        return own.result;
      }
      // A record after a seal is void, so append it to the next segment.
      if (this.#segment.phase !== 'sealed') throw new ShortWriteError('the record is missing from the file');
    }
  }

  close(): void {
    if (!this.#isClosed) this.#fs.closeSync(this.#segment.file.fd);
    this.#isClosed = true;
  }

  // If the files were removed or their directory was renamed, continues in the log that other processes use now.
  #stayInPlace(): void {
    // The wall clock also runs while the machine is suspended; it may be set back.
    const now = this.#clock.now();
    if (Math.abs(now - this.#checkedAt) < CHECK_EVERY_MS) return;
    this.#checkedAt = now;
    if (!this.#segments.isInPlace(this.#segment.file)) this.#use(this.#segments.openNewest());
  }

  // Goes to the newest segment that has a state, and reads to its end.
  #catchUp(): void {
    for (let steps = 0; steps < STEPS; steps++) {
      this.#read();
      const { phase, file } = this.#segment;
      if (phase === 'open') return;
      if (phase === 'sealed') this.#beginNext();
      // The segment before it has the state, unless other processes have rotated twice meanwhile and removed it.
      else this.#use(this.#segments.open(file.number - 1) ?? this.#segments.openNewest());
    }
    throw this.#segments.error('cannot be rotated', this.#segment.file.number);
  }

  // Continues in the next segment, or in a later one, and writes the snapshot if it is missing.
  #beginNext(): void {
    const { file } = this.#segment;
    // Other processes may have removed the segment after two rotations, or the directory may have been replaced.
    this.#use(this.#segments.openNewest(this.#segments.isInPlace(file) ? file.number : 0));
    this.#read();
    const { phase, file: next } = this.#segment;
    // The state is still that of the sealed segment, because none was read since.
    if (phase === 'empty' && next.number === file.number + 1)
      this.#write(snapshotFrame(this.#format.snapshot(this.#state)));
    this.#segments.removeBefore(next.number);
  }

  #use(file: SegmentFile): void {
    this.#fs.closeSync(this.#segment.file.fd);
    this.#segment = unread(file);
    if (file.number === 1) this.#start();
  }

  // Lets a segment grow to twice its snapshot before it is sealed: otherwise, each record would rewrite a large state.
  #sealIfFull(): void {
    const { offset, snapshotSize, phase } = this.#segment;
    if (offset < Math.max(this.#options.rotateAtBytes, 2 * snapshotSize)) return;
    if (phase === 'open') this.#write(SEAL_FRAME);
    this.#catchUp();
  }

  #write(frame: string): void {
    const bytes = Buffer.from(frame);
    const written = this.#fs.writeSync(this.#segment.file.fd, bytes, 0, bytes.length, null);
    if (written !== bytes.length) throw new ShortWriteError(`only ${written} of ${bytes.length} bytes were written`);
  }

  // Reduces the lines that were added since the last call. Returns the result of the record with the ID if it is one of them.
  #read(id?: string): { readonly result: Result } | undefined {
    const segment = this.#segment;
    if (segment.damage) throw segment.damage;
    if (segment.phase === 'sealed') return undefined;
    let own: { readonly result: Result } | undefined;
    for (const text of this.#newLines()) {
      const line = parseLine(text);
      if (line?.is === 'seal') {
        segment.phase = 'sealed';
        break;
      }
      if (line?.is === 'damaged') this.#reportDamage();
      if (line?.is === 'snapshot' && segment.phase === 'empty') this.#restore(line);
      if (line?.is === 'record' && this.#counts(line.id)) {
        const result = this.#apply(line.record);
        if (line.id === id) own = { result };
      }
    }
    return own;
  }

  #newLines(): string[] {
    const segment = this.#segment;
    const parts = [segment.partialLine];
    chunk ??= Buffer.allocUnsafe(CHUNK_BYTES);
    for (let target = chunk; ; ) {
      const count = this.#fs.readSync(segment.file.fd, target, 0, target.length, segment.offset);
      segment.offset += count;
      parts.push(target.subarray(0, count));
      if (count < target.length) break;
      // Read a large remainder in one call, and one byte more, which shows the end of the file.
      target = Buffer.allocUnsafe(this.#fs.fstatSync(segment.file.fd).size - segment.offset + 1);
    }
    const bytes = Buffer.concat(parts);
    const end = bytes.lastIndexOf(0x0a);
    segment.partialLine = bytes.subarray(end + 1);
    return bytes.toString('utf8', 0, Math.max(0, end)).split('\n');
  }

  #restore({ records, size }: { readonly records: readonly string[]; readonly size: number }): void {
    this.#start();
    this.#segment.snapshotSize = size;
    for (const record of records) this.#apply(record);
  }

  // A record before the snapshot is void.
  #counts(id: string): boolean {
    if (this.#segment.phase === 'empty' && id === OLD_SNAPSHOT_ID) this.#start();
    return this.#segment.phase === 'open';
  }

  #start(): void {
    this.#segment.phase = 'open';
    this.#state = this.#format.initial();
  }

  #apply(record: string): Result {
    const result = this.#format.apply(this.#state, record);
    if (result === undefined) this.#reportDamage();
    return result;
  }

  // Damaged and unknown records are ignored or, with `strict`, an error now and at every later use.
  #reportDamage(): void {
    if (!this.#options.strict) return;
    this.#segment.damage = this.#segments.error('is damaged', this.#segment.file.number);
    throw this.#segment.damage;
  }
}

// The first segment begins without a snapshot.
function unread(file: SegmentFile): OpenSegment {
  const phase = file.number === 1 ? 'open' : 'empty';
  return { file, phase, offset: 0, partialLine: Buffer.alloc(0), snapshotSize: 0, damage: undefined };
}
