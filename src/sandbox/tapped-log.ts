// A log that also tells what became of one record: the id it was given, the verdict it met.

import { FileLog } from '../append-log/file-log.ts';
import type { LogFs } from '../append-log/generations.ts';

/** How records become a state, and what one record comes to. */
export interface TappedFormat<State, Result> {
  initial(): State;
  /** Folds one record into the state, in place, and says what it came to. Depends on nothing but its arguments. */
  apply(state: State, record: string): Result | undefined;
  snapshot(state: State): Iterable<string>;
}

/** An append-only log whose appends have results. The results are functions of the prefix: every process sees the same. */
export class TappedLog<State, Result> {
  readonly #log: FileLog<State>;
  readonly #stamp = `${process.pid.toString(36)}${Math.floor(Math.random() * 36 ** 8).toString(36)}`;
  #counter = 0;
  #awaited = '';
  #result: Result | undefined;

  /**
   * @param format the fold
   * @param options folder, name and rotation of the log; `fs`: the file system, which tests make fail
   * @throws errors of the file system as they come; PetstoreError `storage` for a file that is no log
   */
  constructor(
    format: TappedFormat<State, Result>,
    options: {
      readonly dir: string;
      readonly name: string;
      readonly rotateAtBytes: number;
      readonly durable: boolean;
      readonly fs?: LogFs | undefined;
    },
  ) {
    const apply = (state: State, line: string): void => {
      const space = line.indexOf(' ');
      const result = format.apply(state, line.slice(space + 1));
      if (line.slice(0, space) === this.#awaited) this.#result = result;
    };
    const snapshot = function* (state: State): Iterable<string> {
      for (const record of format.snapshot(state)) yield `- ${record}`;
    };
    const { fs, ...rest } = options;
    const kept = { ...rest, ownOnly: true };
    const fold = { initial: format.initial, apply, snapshot };
    this.#log = new FileLog(fold, fs === undefined ? kept : { ...kept, fs });
  }

  /** @returns the state after every record so far, by whichever process */
  state(): State {
    return this.#log.refresh();
  }

  /**
   * Writes one record.
   * @param record text without line breaks
   * @returns what the record came to
   * @throws errors of the file system; the record then counts for nobody
   */
  append(record: string): Result | undefined {
    this.#awaited = `${this.#stamp}${(this.#counter++).toString(36)}`;
    this.#result = undefined;
    this.#log.append(`${this.#awaited} ${record}`);
    return this.#result;
  }

  /** Makes what was appended survive a power failure; calls made meanwhile share one. */
  sync(): Promise<void> {
    return this.#log.sync();
  }

  close(): void {
    this.#log.close();
  }
}
