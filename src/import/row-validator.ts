// Collects the rows and problems of a file, so that one run reports all problems.
import type { NewCategory } from '../api/types.ts';
import { newCategoryProblem } from '../api/types.ts';
import type { Problem, Reason } from '../errors.ts';
import { PetstoreError } from '../errors.ts';
import { escapeControls } from '../text/escape.ts';
import { formatCount, formatNumber, quoted } from '../text/format.ts';

/** `id` is accepted because `categories list` prints it, but it is never sent. */
const KNOWN_FIELDS = new Set(['id', 'name', 'description']);
/** More rows would need too much memory and several days of requests. */
const MAX_ROWS = 500_000;
/** The number of problems in a message; `problems` has all of them. */
const SHOWN = 20;
const CORRECT = 'correct the file and run the same command again';

/** The options for reading a file. */
export interface RowOptions {
  readonly delimiter?: string | undefined;
  readonly encoding?: string | undefined;
  /** For example `name=Species`. */
  readonly map?: readonly string[] | undefined;
  readonly ignoreExtra: boolean;
}

/** A row of a file, with the line on which it begins. */
export type FileRow = NewCategory & { readonly line: number };

/** A valid row as it was read: many exporters write null for a missing value. */
interface NullableCategory {
  readonly name: string;
  readonly description?: string | null;
}

/** Collects valid rows and problems; each problem names the line on which its row begins. */
export class RowValidator {
  readonly rows: FileRow[] = [];
  readonly options: RowOptions;
  readonly #label: string;
  readonly #problems: Problem[] = [];
  /** The number of problems that ignoring other fields would avoid. */
  #extras = 0;
  /** The first row with each name. */
  readonly #firsts = new Map<string, FileRow>();

  /** @param label names the file in messages */
  constructor(label: string, options: RowOptions) {
    this.#label = label;
    this.options = options;
  }

  /** The number of rows read so far, invalid ones included. */
  get count(): number {
    return this.rows.length + this.#problems.length;
  }

  addJson(source: string, line: number): void {
    let value: unknown;
    try {
      value = JSON.parse(source);
    } catch {
      // Replace the parser's message, which quotes the file.
      this.addInvalid('not valid JSON', line);
      return;
    }
    this.add(value, line);
  }

  add(value: unknown, line: number): void {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      this.addInvalid('expected an object with "name"', line);
      return;
    }
    const extra = this.options.ignoreExtra ? undefined : Object.keys(value).find((field) => !KNOWN_FIELDS.has(field));
    const unknown = extra === undefined ? undefined : `unknown field ${quoted(extra)}`;
    const { name, description } = value as Readonly<Record<string, unknown>>;
    const problem = newCategoryProblem(name, description);
    // The unknown field may be the misspelled name.
    if (problem) this.addInvalid(unknown && name === undefined ? `${problem}; ${unknown}` : problem, line);
    else if (unknown) this.addExtra(unknown, line);
    else this.#addValid(value as NullableCategory, line);
  }

  #addValid({ name, description }: NullableCategory, line: number): void {
    const first = this.#firsts.get(name);
    if (first && (first.description ?? '') !== (description ?? '')) {
      const there = first.line === line ? 'in an earlier row' : `on line ${first.line}`;
      this.addInvalid(`${quoted(name)} has a different description ${there}`, line);
      return;
    }
    const row = description == null ? { name, line } : { name, description, line };
    this.#checkCount();
    if (!first) this.#firsts.set(name, row);
    this.rows.push(row);
  }

  addInvalid(message: string, line: number): void {
    this.#checkCount();
    this.#problems.push({ line, row: this.count + 1, message: escapeControls(message) });
  }

  #checkCount(): void {
    if (this.count < MAX_ROWS) return;
    throw unusableError(this.#label, `has more than ${formatNumber(MAX_ROWS)} rows`, 'split it into smaller files');
  }

  /** Adds an invalid row that is valid if other fields are ignored. */
  addExtra(message: string, line: number): void {
    this.#extras++;
    this.addInvalid(message, line);
  }

  /** @returns the error to throw if the rest of the file cannot be read */
  fatalError(message: string, line: number, hint = CORRECT): PetstoreError {
    this.#problems.push({ line, message: escapeControls(message) });
    return this.#error(hint);
  }

  /** @throws PetstoreError `usage` with all problems, if there are any */
  check(): void {
    const count = this.#problems.length;
    if (count > 0) throw this.#error(CORRECT, this.#extras === count ? { is: 'extra_fields', count } : undefined);
  }

  #error(hint: string, reason?: Reason): PetstoreError {
    const problems = this.#problems;
    const lines = problems
      .slice(0, SHOWN)
      .map(({ line, row, message }) => `line ${line}${row === undefined ? '' : ` (row ${row})`}: ${message}`);
    if (problems.length > SHOWN) lines.push(`and ${formatCount(problems.length - SHOWN, 'other problem')}`);
    const message =
      problems.length === 1
        ? `${this.#label}, ${lines[0]}`
        : [`${this.#label} has ${formatCount(problems.length, 'problem')}`, ...lines].join('\n  ');
    return new PetstoreError('usage', message, { hint, reason, problems });
  }
}

/** @param label the unusable input, for example `stdin` */
export function unusableError(label: string, problem: string, hint: string): PetstoreError {
  return new PetstoreError('usage', `${label} ${problem}`, { hint });
}
