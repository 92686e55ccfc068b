// A log of the sandbox, in which an invalid record is an error that names the file.
import { join } from 'node:path';
import type { LogOptions } from '../append-log/file-log.ts';
import { FileLog } from '../append-log/file-log.ts';
import type { LogFormat } from '../append-log/log.ts';
import { DamagedRecordError } from '../append-log/log.ts';
import { PetstoreError } from '../errors.ts';
import { escapeControls } from '../escape.ts';

export class DataLog<State, Result> extends FileLog<State, Result> {
  readonly #place: Pick<LogOptions, 'dir' | 'name'>;

  /** @throws PetstoreError `storage` for a damaged or foreign file; errors of the file system */
  constructor(format: LogFormat<State, Result>, options: LogOptions) {
    super(format, { ...options, rejectForeign: true });
    this.#place = options;
    this.refresh();
  }

  override refresh(): State {
    try {
      return super.refresh();
    } catch (error) {
      if (!(error instanceof DamagedRecordError)) throw error;
      const file = join(this.#place.dir, `${this.#place.name}.${this.generation}.log`);
      throw new PetstoreError('storage', `the sandbox data is damaged: ${escapeControls(file)}`, {
        hint: 'move the file to another directory to start with empty data',
      });
    }
  }

  // Checks first that the file is not damaged.
  override append(record: string): Result {
    this.refresh();
    return super.append(record);
  }
}
