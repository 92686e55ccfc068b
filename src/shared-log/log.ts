// The interface of append-only logs, records in and one state out: FileLog, MemoryLog and StreamLog implement it.

/** Reduces records to a state. The functions are deterministic, so all processes agree. */
export interface LogFormat<State, Result = void> {
  initial(): State;
  /**
   * Reduces one record into the state, in place.
   * @param at the server's time (epoch milliseconds) if the log is on a server; otherwise undefined
   * @returns the result of the record, such as the category that it creates; undefined for an unknown record
   */
  apply(state: State, record: string, at?: number): Result;
  /** Returns records that give this state when reduced from `initial()`: the head of the next segment. */
  snapshot(state: State): Iterable<string>;
}

/** Only StreamLog is asynchronous, and rejects with StateServerError; FileLog throws file system errors and PetstoreError. */
export interface Log<State> {
  /** The clock of the log's server minus this machine's clock, in milliseconds; undefined if there is no server. */
  readonly clockOffsetMs?: number;
  /** The state as last read; the log is not read again. */
  cached(): State;
  /** The latest state known without asking a server; a file is read again. Undefined if the state is too old. */
  freshState(): State | undefined;
  refresh(): State | Promise<State>;
  /** Writes one record (a single line), and reduces it and all records before it. */
  append(record: string): unknown;
  close(): void;
}

/** A log in the memory of one process, used if no file is wanted or none can be written. */
export class MemoryLog<State, Result = void> implements Log<State> {
  readonly close: () => void;
  readonly #format: LogFormat<State, Result>;
  readonly #state: State;

  /**
   * @param records the first records, for example the snapshot of another log
   * @param onClose called by `close`, for a log that several owners share
   */
  constructor(format: LogFormat<State, Result>, records: Iterable<string> = [], onClose = (): void => undefined) {
    this.#format = format;
    this.#state = format.initial();
    this.close = onClose;
    for (const record of records) this.append(record);
  }

  cached(): State {
    return this.#state;
  }

  freshState(): State {
    return this.#state;
  }

  refresh(): State {
    return this.#state;
  }

  append(record: string): Result {
    return this.#format.apply(this.#state, record);
  }
}
