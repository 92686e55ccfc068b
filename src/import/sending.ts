// Rows sent by several workers, the journal always one step ahead of the request.
import { PetstoreError } from '../errors.ts';
import { verdictOf } from './verdict.ts';
import type { Work } from './work.ts';
import { asKnown } from './work.ts';

/** Sends what is queued, pass by pass; a pass ends early where answers are lost one after the other. */
export class Sending {
  readonly #work: Work;
  #lostInARow = 0;
  #brokenPasses = 0;

  /** @param work the state of the run */
  constructor(work: Work) {
    this.#work = work;
  }

  /** Sends until the queue is empty, the run is to end, or too many answers were lost in a row. */
  async pass(): Promise<void> {
    this.#lostInARow = 0;
    const before = this.#work.tally.created;
    const { concurrency, maxRetries } = this.#work.options;
    await Promise.all(Array.from({ length: concurrency }, () => this.#worker()));
    if (!this.#broken() || this.#work.tally.created > before) this.#brokenPasses = 0;
    else if (++this.#brokenPasses > maxRetries) this.#work.end(failsEvery());
  }

  /** Tells that rows sent by the last pass were found: the service works, only its answers get lost. */
  succeeded(): void {
    this.#brokenPasses = 0;
  }

  // So many answers lost one after the other: look what became of them before more is sent.
  #broken(): boolean {
    return this.#lostInARow >= Math.max(this.#work.options.concurrency, 4);
  }

  async #worker(): Promise<void> {
    const { queue, options } = this.#work;
    while (!this.#work.stop && !this.#broken()) {
      const row = queue.pop();
      if (row === undefined) return;
      try {
        options.signal.throwIfAborted();
        await options.journal.send(row);
        await this.#sendRow(row);
      } catch (error) {
        this.#work.end(error);
      }
      options.onProgress(this.#work.tally);
    }
  }

  async #sendRow(row: number): Promise<void> {
    const { rows, journal, signal, categories } = this.#work.options;
    if (signal.aborted) {
      journal.note(row, 'unsent');
      throw signal.reason;
    }
    const answer = await categories.create(rows.get(row)).catch((error: unknown) => ({ error }));
    if (isFailure(answer)) return this.#judge(row, answer.error);
    this.#lostInARow = 0;
    this.#work.tally.create(row, answer);
    // Where the journal cannot take it, the next run finds it by looking.
    journal.created(row, String(answer.id));
  }

  #judge(row: number, error: unknown): void {
    const { tally, options } = this.#work;
    const verdict = verdictOf(error, options.signal.reason);
    if (verdict.stop) this.#work.end(error);
    if (verdict.row === 'rejected') tally.fail(row, asKnown(error));
    if (verdict.row === 'lost') {
      this.#work.lose(row);
      this.#lostInARow++;
    }
    options.journal.note(row, verdict.row);
  }
}

function isFailure(answer: object): answer is { readonly error: unknown } {
  return 'error' in answer && !('id' in answer);
}

function failsEvery(): PetstoreError {
  return new PetstoreError('unknown_outcome', 'the service answers no create in a way that can be trusted', {
    hint: 'look at `petstore doctor`; the same command goes on where it stopped',
  });
}
