// The append-only log as its users see it: records in, one state out. Three implementations: FileLog, MemoryLog, StreamLog.

/** A record that no process of ours wrote. */
export class DamagedRecordError extends Error {
  override readonly name = 'DamagedRecordError';
}

/** How records become a state. All three functions depend on nothing but their arguments, so all processes agree. */
export interface LogFormat<State, Result = void> {
  initial(): State;
  /**
   * Reduces one record into the state, in place.
   * @returns what the record came to
   * @throws DamagedRecordError for a record that is not of this format; the state is unchanged then
   */
  apply(state: State, record: string): Result;
  /** Returns records that give this state when reduced from `initial()`: the head of the next generation. */
  snapshot(state: State): Iterable<string>;
}

/** A value, or a promise of it from a log on a server. */
export type Awaitable<T> = T | Promise<T>;

/** Files and memory return at once and throw errors of the file system; a server returns promises that reject with StateServerError. */
export interface Log<State> {
  /** The state as last read, without reading. */
  last(): State;
  /** The state with all that others wrote until now, as far as that is known without waiting; undefined if it is too old. */
  recent(): State | undefined;
  /** Reads what others wrote. */
  refresh(): Awaitable<State>;
  /** Writes one record, text without line breaks, and reduces it and everything before it. */
  append(record: string): Awaitable<unknown>;
  /** Makes every record appended so far survive a power failure, as far as the log promises that. */
  sync(): Promise<void>;
  close(): void;
}

/** In-memory log of one process, for simulations or when no file can be written. */
export class MemoryLog<State, Result = void> implements Log<State> {
  readonly #format: LogFormat<State, Result>;
  readonly #state: State;

  /** @param records what it begins with, for example the snapshot of another log */
  constructor(format: LogFormat<State, Result>, records: Iterable<string> = []) {
    this.#format = format;
    this.#state = format.initial();
    for (const record of records) this.append(record);
  }

  last(): State {
    return this.#state;
  }

  recent(): State {
    return this.#state;
  }

  refresh(): State {
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
