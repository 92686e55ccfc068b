// The append-only log for one process alone, where no file can be written.
import type { Log, LogFormat } from './file-log.ts';

/** The same log for one process alone, where no file can be written. */
export class MemoryLog<State> implements Log<State> {
  readonly #format: LogFormat<State>;
  readonly #state: State;

  constructor(format: LogFormat<State>) {
    this.#format = format;
    this.#state = format.initial();
  }

  refresh(): State {
    return this.#state;
  }

  last(): State {
    return this.#state;
  }

  append(record: string): State {
    this.#format.apply(this.#state, record);
    return this.#state;
  }

  sync(): Promise<void> {
    return Promise.resolve();
  }

  close(): void {}
}
