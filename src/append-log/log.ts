// The append-only log as its users see it: records in, one state out, whether it lies in a file, in memory or on a server.

/** A record that no process of ours wrote, thrown by reducers that must not ignore it. */
export class DamagedRecordError extends Error {
  override readonly name = 'DamagedRecordError';
}

/** How records become a state. All three functions depend on nothing but their arguments, so all processes agree. */
export interface LogFormat<State, Result = void> {
  initial(): State;
  /**
   * Reduces one record into the state, in place, and returns what the record came to. Ignores what it does not
   * understand, or throws DamagedRecordError.
   */
  apply(state: State, record: string): Result;
  /** Returns records that give this state when reduced from `initial()`: the head of the next generation. */
  snapshot(state: State): Iterable<string>;
}

export interface Log<State, Result = void> {
  /** Reads what others wrote. Returns the state after every record so far; the same object until a rotation. */
  refresh(): State;
  /**
   * Writes one record (text without line breaks) and reduces it and everything before it.
   * @returns what the reducer returned for this record
   * @throws ShortWriteError where only part of it was written (that part is void); errors of the file system as they come
   */
  append(record: string): Result;
  /** Returns the state as last read, without reading. */
  last(): State;
  /** Makes every record appended so far survive a power failure. Concurrent calls share one fdatasync. */
  sync(): Promise<void>;
  close(): void;
}

/** The log of a single process, for when no file can be written. */
export class MemoryLog<State, Result = void> implements Log<State, Result> {
  readonly #format: LogFormat<State, Result>;
  readonly #state: State;

  constructor(format: LogFormat<State, Result>) {
    this.#format = format;
    this.#state = format.initial();
  }

  refresh(): State {
    return this.#state;
  }

  last(): State {
    return this.#state;
  }

  append(record: string): Result {
    return this.#format.apply(this.#state, record);
  }

  sync(): Promise<void> {
    return Promise.resolve();
  }

  close(): void {}
}
