// Rows sent by several workers, the journal always one step ahead of the request.
import type { Category, NewCategory } from '../api/types.ts';
import { classifyError } from './classify-error.ts';
import type { ImportState } from './import-state.ts';
import { toPetstoreError } from './import-state.ts';

/** Sends what is queued, pass by pass; a pass ends early where answers are lost one after the other. */
export class RowSender {
  readonly #work: ImportState;
  #lostInARow = 0;

  /** @param work the state of the run */
  constructor(work: ImportState) {
    this.#work = work;
  }

  /**
   * Sends until the queue is empty, the run is to end, or too many answers were lost in a row.
   * @returns whether it was the last: then it is better to look before more is sent
   */
  async pass(): Promise<boolean> {
    this.#lostInARow = 0;
    await Promise.all(Array.from({ length: this.#work.options.concurrency }, () => this.#worker()));
    return this.#broken();
  }

  #broken(): boolean {
    return this.#lostInARow >= Math.max(this.#work.options.concurrency, 4);
  }

  async #worker(): Promise<void> {
    const { options } = this.#work;
    while (!this.#work.stop && !this.#broken()) {
      const row = this.#work.next();
      if (row === undefined) return;
      try {
        await this.#note(row);
        await this.#sendRow(row);
      } catch (error) {
        this.#work.end(error);
      }
      options.onProgress(this.#work.tally);
    }
  }

  async #note(row: number): Promise<void> {
    const { signal, journal } = this.#work.options;
    try {
      signal.throwIfAborted();
      await journal.send(row);
    } finally {
      this.#work.handOver();
    }
  }

  async #sendRow(row: number): Promise<void> {
    const { rows, journal, signal, categories } = this.#work.options;
    if (signal.aborted) {
      journal.note(row, 'unsent');
      throw signal.reason;
    }
    let category: Category;
    try {
      category = await categories.create(rows[row] as NewCategory);
    } catch (error) {
      this.#judge(row, error);
      return;
    }
    this.#lostInARow = 0;
    this.#work.tally.create(row, category);
    // Where the journal cannot take it, the next run finds it by looking.
    journal.created(row, String(category.id));
  }

  #judge(row: number, error: unknown): void {
    const { tally, options } = this.#work;
    const verdict = classifyError(error, options.signal.reason);
    if (verdict.stop) this.#work.end(error);
    if (verdict.row === 'rejected') tally.fail(row, toPetstoreError(error));
    if (verdict.row === 'lost') {
      this.#work.lose(row, verdict.slow);
      this.#lostInARow++;
    }
    options.journal.note(row, verdict.slow ? 'slow' : verdict.row);
  }
}
