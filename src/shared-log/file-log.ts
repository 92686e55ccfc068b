// The append-only log in files, written by many processes without a lock (docs/architecture.md, Ideas).
//
// Each record is one write() to an O_APPEND descriptor, so records never interleave. A record counts if it stands between the
// snapshot and the seal of its segment, so its writer reads it back. Any process that has read the seal writes the snapshot of
// the next segment. If several do, all write the same state, and readers use the first.
import { randomBytes } from 'node:crypto';
import type { Clock } from '../clock.ts';
import { systemClock } from '../clock.ts';
import type { PetstoreError } from '../errors.ts';
import type { Line } from './framing.ts';
import { parseLine, recordFrame, SEAL_FRAME, snapshotFrame } from './framing.ts';
import type { Log, LogFormat } from './log.ts';
import type { Segment, SegmentsOptions } from './segments.ts';
import { Segments, ShortWriteError } from './segments.ts';

export interface LogOptions extends SegmentsOptions {
  /** A segment of this size is sealed. */
  readonly rotateAtBytes: number;
  readonly clock?: Clock | undefined;
}

/**
 * How often, at most, a log checks that its file is still in place, in milliseconds. No other process sees records that
 * are written in this time after the directory was renamed or removed; a check before each use would cost a tenth of an import.
 */
export const CHECK_EVERY_MS = 10;
// Limits the steps to the newest segment: an inconsistent directory would otherwise cause an endless loop.
const MAX_STEPS = 100;

/** The progress of reading the segment in use. */
interface ReadProgress {
  /** `empty`: its snapshot is still missing. Each segment but the first begins so. */
  phase: 'empty' | 'open' | 'sealed';
  snapshotSize: number;
  /** The error of a damaged log, only with `strict`; the state is then incomplete. */
  damage: PetstoreError | undefined;
}

export class FileLog<State, Result = void> implements Log<State> {
  readonly #format: LogFormat<State, Result>;
  readonly #options: LogOptions;
  readonly #clock: Clock;
  readonly #segments: Segments;
  readonly #stamp = randomBytes(6).toString('hex');
  #counter = 0;
  #segment: Segment;
  #progress: ReadProgress;
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
    this.#clock = options.clock ?? systemClock;
    this.#segments = new Segments(options);
    this.#state = format.initial();
    this.#segment = this.#segments.openNewest();
    this.#progress = unread(this.#segment);
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

  /** Throws as the constructor does, and ShortWriteError if only part of the record was written, which readers ignore. */
  append(record: string): Result {
    this.#stayInPlace();
    for (;;) {
      // Nothing is added to a damaged log, nor to a segment without a snapshot.
      if (this.#options.strict || this.#progress.phase !== 'open') this.#catchUp();
      const id = `${this.#stamp}${(this.#counter++).toString(36)}`;
      this.#segment.write(recordFrame(id, record));
      const own = this.#read(id);
      if (own) {
        this.#sealIfFull();
        return own.result;
      }
      // A record after a seal is void, so append it to the next segment.
      if (this.#progress.phase !== 'sealed') throw new ShortWriteError('the record is missing from the file');
    }
  }

  close(): void {
    if (!this.#isClosed) this.#segment.close();
    this.#isClosed = true;
  }

  // If the file was removed or its directory was renamed, continues in the log that other processes use now.
  #stayInPlace(): void {
    // The wall clock also runs while the machine is suspended; it may be set back.
    const now = this.#clock.now();
    if (Math.abs(now - this.#checkedAt) < CHECK_EVERY_MS) return;
    this.#checkedAt = now;
    if (!this.#segment.isInPlace()) this.#use(this.#segments.openNewest());
  }

  // Goes to the newest segment that has a state, and reads to its end.
  #catchUp(): void {
    for (let steps = 0; steps < MAX_STEPS; steps++) {
      this.#read();
      const { phase } = this.#progress;
      if (phase === 'open') return;
      if (phase === 'sealed') this.#beginNext();
      // The segment before it has the state, unless other processes have rotated twice meanwhile and removed it.
      else this.#use(this.#segments.open(this.#segment.number - 1) ?? this.#segments.openNewest());
    }
    throw this.#segments.error('cannot be rotated', this.#segment.number);
  }

  // Continues in the next segment, or in a later one, and writes the snapshot if it is missing.
  #beginNext(): void {
    const sealed = this.#segment;
    // Other processes may have removed the segment after two rotations, or the directory may have been replaced.
    this.#use(this.#segments.openNewest(sealed.isInPlace() ? sealed.number : 0));
    this.#read();
    const { number } = this.#segment;
    // The state is still that of the sealed segment, because none was read since.
    if (this.#progress.phase === 'empty' && number === sealed.number + 1)
      this.#segment.write(snapshotFrame(this.#format.snapshot(this.#state)));
    this.#segments.removeBefore(number);
  }

  #use(segment: Segment): void {
    this.#segment.close();
    this.#segment = segment;
    this.#progress = unread(segment);
    if (this.#progress.phase === 'open') this.#start();
  }

  // Lets a segment grow to twice its snapshot before it is sealed: otherwise, each record would rewrite a large state.
  #sealIfFull(): void {
    if (this.#segment.offset < Math.max(this.#options.rotateAtBytes, 2 * this.#progress.snapshotSize)) return;
    this.#segment.write(SEAL_FRAME);
    this.#catchUp();
  }

  // Reduces the new lines. Returns the result of the record with this id if the new lines contain it and it counts.
  #read(id?: string): { readonly result: Result } | undefined {
    const progress = this.#progress;
    if (progress.damage) throw progress.damage;
    if (progress.phase === 'sealed') return undefined;
    let own: { readonly result: Result } | undefined;
    for (const text of this.#segment.readLines()) {
      const line = parseLine(text);
      if (line?.is === 'seal') {
        progress.phase = 'sealed';
        break;
      }
      if (line?.is === 'damaged') this.#reportDamage();
      if (line?.is === 'snapshot') this.#restore(line);
      // A record before the snapshot is void.
      if (line?.is === 'record' && progress.phase === 'open') {
        const result = this.#apply(line.record);
        if (line.id === id) own = { result };
      }
    }
    return own;
  }

  #restore({ records, size }: Extract<Line, { readonly is: 'snapshot' }>): void {
    // Another process wrote the same snapshot.
    if (this.#progress.phase !== 'empty') return;
    this.#start();
    this.#progress.snapshotSize = size;
    for (const record of records) this.#apply(record);
  }

  #start(): void {
    this.#progress.phase = 'open';
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
    this.#progress.damage = this.#segments.error('is damaged', this.#segment.number);
    throw this.#progress.damage;
  }
}

// The first segment begins without a snapshot.
function unread({ number }: Segment): ReadProgress {
  return { phase: number === 1 ? 'open' : 'empty', snapshotSize: 0, damage: undefined };
}
