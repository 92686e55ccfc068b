// A log of the sandbox: unlike other logs it is never repaired, so an invalid record is an error that names the file.
import { join } from 'node:path';
import type { LogOptions } from '../append-log/file-log.ts';
import { FileLog } from '../append-log/file-log.ts';
import type { LogFormat } from '../append-log/log.ts';
import { DamagedRecordError } from '../append-log/log.ts';
import { PetstoreError } from '../errors.ts';
import { escapeControls } from '../escape.ts';

export class DataLog<State, Result> {
  readonly #log: FileLog<State, Result>;
  readonly #options: LogOptions;

  /**
   * @param format its reducer throws DamagedRecordError for a record that is not valid
   * @throws PetstoreError `storage` for a damaged or foreign file; errors of the file system
   */
  constructor(format: LogFormat<State, Result>, options: LogOptions) {
    this.#options = options;
    this.#log = new FileLog(format, { ...options, rejectForeign: true });
    this.state();
  }

  state(): State {
    try {
      return this.#log.refresh();
    } catch (error) {
      if (!(error instanceof DamagedRecordError)) throw error;
      const file = join(this.#options.dir, `${this.#options.name}.${this.#log.generation}.log`);
      throw new PetstoreError('storage', `the sandbox data is damaged: ${escapeControls(file)}`, {
        hint: 'move the file away to start with empty data',
      });
    }
  }

  append(record: string): Result {
    this.state();
    return this.#log.append(record);
  }

  sync(): Promise<void> {
    return this.#log.sync();
  }

  close(): void {
    this.#log.close();
  }
}
