// Checks the rows of a file or a program, and collects all problems, so that one error reports them.
import type { Problem, Reason } from '../errors.ts';
import { PetstoreError } from '../errors.ts';
import type { NewCategory } from '../public-types.ts';
import { newCategoryProblem } from '../settings/check-options.ts';
import { escapeControls } from '../text/escape.ts';
import { formatCount, formatNumber, quoted } from '../text/format.ts';
import { isJsonObject } from '../text/json.ts';

/** `id` is accepted because `categories list` prints it, but it is never sent. */
const KNOWN_FIELDS = new Set(['id', 'name', 'description']);
/** More rows would need too much memory and several days of requests. */
const MAX_ROWS = 500_000;
/** The number of problems in a message; `problems` has all of them. */
const SHOWN = 20;

/** A valid row; `line` is its first line, undefined in a JSON array and in a program. */
export type InputRow = NewCategory & { readonly line?: number | undefined };

interface ValidatorOptions {
  /** Names the input in messages. */
  readonly label: string;
  /** The hint of invalid rows. */
  readonly hint: string;
  readonly ignoreExtra?: boolean | undefined;
}

export class RowValidator {
  readonly #rows: InputRow[] = [];
  readonly #problems: Problem[] = [];
  readonly #options: ValidatorOptions;
  /** The number of problems that ignoring other fields would avoid. */
  #extras = 0;
  /** The first row with each name, and its location. */
  readonly #firsts = new Map<string, { readonly description: string; readonly where: string }>();

  constructor(options: ValidatorOptions) {
    this.#options = options;
  }

  add(value: unknown, line?: number): void {
    if (!isJsonObject(value)) {
      this.addInvalid('expected an object with "name"', line);
      return;
    }
    const { ignoreExtra } = this.#options;
    // Ignoring a field without a value loses nothing.
    const isExtra = (field: string): boolean => !KNOWN_FIELDS.has(field) && (value[field] ?? '') !== '';
    const extra = ignoreExtra ? undefined : Object.keys(value).find(isExtra);
    const unknown = extra === undefined ? undefined : `unknown field ${quoted(extra)}`;
    const { name, description } = value;
    const problem = newCategoryProblem(name, description);
    // The unknown field may be a misspelled `name`.
    if (problem) this.addInvalid(unknown && name === undefined ? `${problem}; ${unknown}` : problem, line);
    else if (unknown) this.addExtra(unknown, line);
    // Many exporters write null for a missing description.
    else this.#addValid(name as string, (description ?? undefined) as string | undefined, line);
  }

  #addValid(name: string, description: string | undefined, line: number | undefined): void {
    const first = this.#firsts.get(name);
    if (first && first.description !== (description ?? '')) {
      this.addInvalid(`${quoted(name)} has a different description ${first.where}`, line);
      return;
    }
    const row = this.#nextRow();
    const where = line === undefined ? `in row ${row}` : `on line ${line}`;
    if (!first) this.#firsts.set(name, { description: description ?? '', where });
    this.#rows.push({ name, ...(description !== undefined && { description }), line });
  }

  addInvalid(message: string, line?: number): void {
    this.#problems.push({ line, row: this.#nextRow(), message: escapeControls(message) });
  }

  /** Adds an invalid row that is valid if other fields are ignored. */
  addExtra(message: string, line?: number): void {
    this.#extras++;
    this.addInvalid(message, line);
  }

  #nextRow(): number {
    const count = this.#rows.length + this.#problems.length;
    if (count < MAX_ROWS) return count + 1;
    throw unusableError(
      this.#options.label,
      `has more than ${formatNumber(MAX_ROWS)} rows`,
      'split it into several imports',
    );
  }

  /** @returns the error to throw if the rest of a file cannot be read */
  fatalError(message: string, line: number, hint = this.#options.hint): PetstoreError {
    this.#problems.push({ line, message: escapeControls(message) });
    return this.#error(hint);
  }

  /**
   * @returns the rows
   * @throws PetstoreError `usage` with all problems, if there are any
   */
  check(): readonly InputRow[] {
    const count = this.#problems.length;
    if (count === 0) return this.#rows;
    throw this.#error(this.#options.hint, this.#extras === count ? { is: 'extra_fields' } : undefined);
  }

  #error(hint: string, reason?: Reason): PetstoreError {
    const { label } = this.#options;
    const problems = this.#problems;
    const lines = problems.slice(0, SHOWN).map((problem) => `${placeOf(problem)}: ${problem.message}`);
    if (problems.length > SHOWN) lines.push(`and ${formatCount(problems.length - SHOWN, 'other problem')}`);
    const message =
      problems.length === 1
        ? `${label}, ${lines[0]}`
        : [`${label} has ${formatCount(problems.length, 'problem')}`, ...lines].join('\n  ');
    return new PetstoreError('usage', message, { hint, reason, problems });
  }
}

function placeOf({ line, row }: Problem): string {
  if (line === undefined) return `row ${row}`;
  return row === undefined ? `line ${line}` : `line ${line} (row ${row})`;
}

/**
 * Checks rows from a program by the same rules as rows of a file.
 * @throws PetstoreError `usage`, with all invalid rows in `problems`; errors of the iterable unchanged
 */
export async function checkRows(rows: Iterable<unknown> | AsyncIterable<unknown>): Promise<readonly NewCategory[]> {
  const isIterable =
    typeof rows === 'object' && rows !== null && (Symbol.iterator in rows || Symbol.asyncIterator in rows);
  if (!isIterable) throw new PetstoreError('usage', 'rows must be an array or another iterable object');
  const validator = new RowValidator({ label: 'the input', hint: 'correct the rows' });
  for await (const row of rows) validator.add(row);
  return validator.check();
}

/** @param label the unusable input, for example `stdin` */
export function unusableError(label: string, problem: string, hint: string): PetstoreError {
  return new PetstoreError('usage', `${label} ${problem}`, { hint });
}
