// What is wrong with a file, line by line: the first twenty in full, then a count.
import { PetstoreError } from '../errors.ts';
import { escapeControls } from '../escape.ts';

/** How many bad rows are named before they are only counted (fault E5). */
export const NAMED = 20;

/** Collects what is wrong, so that one run names every bad row. */
export class ValidationErrors {
  readonly #file: string;
  readonly #named: string[] = [];
  #count = 0;

  /** @param file how messages call the file */
  constructor(file: string) {
    this.#file = file;
  }

  /**
   * Notes a bad row.
   * @param line the line it begins on, from 1
   * @param what what is wrong with it; what it quotes from the file is made visible here
   * @param row its number among the rows, from 1, where it is one
   */
  add(line: number, what: string, row?: number): void {
    const place = row === undefined ? `line ${line}` : `line ${line} (row ${row})`;
    if (++this.#count <= NAMED) this.#named.push(`  ${place}: ${escapeControls(what)}`);
  }

  /**
   * Notes what makes the rest of the file unreadable.
   * @param line the line, from 1
   * @param what what is wrong
   * @returns the error to throw
   */
  fatal(line: number, what: string): PetstoreError {
    this.add(line, what);
    return this.error();
  }

  /** @throws PetstoreError `usage` where anything was noted */
  check(): void {
    if (this.#count > 0) throw this.error();
  }

  /** @returns everything noted as one error */
  error(): PetstoreError {
    const lines = [...this.#named];
    if (this.#count > NAMED) lines.push(`  and ${this.#count - NAMED} more`);
    const rows = this.#count === 1 ? '1 problem' : `${this.#count} problems`;
    return new PetstoreError(
      'usage',
      `${escapeControls(this.#file)} has ${rows}; nothing was sent\n${lines.join('\n')}`,
      {
        hint: 'correct the file and run the same command again',
      },
    );
  }
}

/**
 * Quotes a piece of the file in a message.
 * @param text any text from the file
 * @returns it in quotes, at most 40 characters of it
 */
export function quoted(text: string): string {
  return text.length > 40 ? `"${text.slice(0, 40)}…"` : `"${text}"`;
}
