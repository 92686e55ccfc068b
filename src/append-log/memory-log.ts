// The append-only log of a single process, for when no file can be written.
import type { Log, LogFormat } from './log.ts';

/** A log that lives as long as its process. */
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
