// Collects the rows and problems of a file, so that one run reports all problems.
import type { NewCategory } from '../api/types.ts';
import type { Problem } from '../errors.ts';
import { PetstoreError } from '../errors.ts';
import { escapeControls } from '../escape.ts';
import { formatCount } from '../format.ts';

/** `id` is accepted because `categories list` prints it, but it is never sent. */
const KNOWN_FIELDS = new Set(['id', 'name', 'description']);
/** The number of problems in a message; `problems` has all of them. */
const SHOWN = 20;

/** The values of the options for reading a file. */
export interface RowOptions {
  readonly delimiter?: string | undefined;
  readonly encoding?: string | undefined;
  /** For example `name=Species`. */
  readonly map?: readonly string[] | undefined;
  readonly ignoreExtra: boolean;
}

/** A row of a file, with the line in which it begins. */
export type FileRow = NewCategory & { readonly line: number };

export class RowValidator {
  readonly rows: FileRow[] = [];
  readonly options: RowOptions;
  readonly #label: string;
  readonly #problems: Problem[] = [];
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

  /** @param line the first line of the JSON text */
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
    const problem = problemOf(value, this.options.ignoreExtra);
    if (problem !== undefined) {
      this.addInvalid(problem, line);
      return;
    }
    const { name, description } = value as { name: string; description?: string | null };
    const first = this.#firsts.get(name);
    if (first && (first.description ?? '') !== (description ?? '')) {
      this.addInvalid(`${quoted(name)} has another description in line ${first.line}`, line);
      return;
    }
    // Many exporters write null for a missing value.
    const row = description == null ? { name, line } : { name, description, line };
    if (!first) this.#firsts.set(name, row);
    this.rows.push(row);
  }

  addInvalid(message: string, line: number): void {
    this.#problems.push({ line, row: this.count + 1, message: escapeControls(message) });
  }

  /** @returns the error to throw if the rest of the file cannot be read */
  fatalError(message: string, line: number, hint?: string): PetstoreError {
    this.#problems.push({ line, message: escapeControls(message) });
    return this.#error(hint);
  }

  check(): void {
    if (this.#problems.length > 0) throw this.#error();
  }

  #error(hint = hintFor(this.#problems)): PetstoreError {
    const problems = this.#problems;
    const lines = problems
      .slice(0, SHOWN)
      .map(({ line, row, message }) => `line ${line}${row === undefined ? '' : ` (row ${row})`}: ${message}`);
    if (problems.length > SHOWN) lines.push(`and ${formatCount(problems.length - SHOWN, 'other problem')}`);
    const message =
      problems.length === 1
        ? `${this.#label}, ${lines[0]}`
        : [`${this.#label} has ${formatCount(problems.length, 'problem')}`, ...lines].join('\n  ');
    return new PetstoreError('usage', message, { hint, problems });
  }
}

function hintFor(problems: readonly Problem[]): string {
  const isExtra = problems.every(({ message }) => /^unknown field | column without a name$/.test(message));
  return isExtra ? ignoreHint(problems.length) : 'correct the file and run the same command again';
}

export function ignoreHint(count: number): string {
  return `use --ignore-extra to ignore ${count === 1 ? 'it' : 'them'}`;
}

function problemOf(value: unknown, ignoreExtra: boolean): string | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'expected an object with "name"';
  const extra = ignoreExtra ? undefined : Object.keys(value).find((field) => !KNOWN_FIELDS.has(field));
  const unknown = extra === undefined ? undefined : `unknown field ${quoted(extra)}`;
  const { name, description } = value as Readonly<Record<string, unknown>>;
  // The unknown field may be the misspelled name.
  if (name === undefined) return unknown ? `name is missing; ${unknown}` : 'name is missing';
  if (unknown) return unknown;
  if (typeof name !== 'string') return 'name must be a string';
  if (/^[\s\0]*$/.test(name)) return 'name is blank';
  if (typeof (description ?? '') !== 'string') return 'description must be a string';
  if (/\p{Surrogate}/u.test(name)) return 'name contains an unpaired surrogate';
  if (/\p{Surrogate}/u.test(String(description))) return 'description contains an unpaired surrogate';
  return undefined;
}

/** @param label what cannot be used, for example `stdin` */
export function unusableError(label: string, problem: string, hint: string): PetstoreError {
  return new PetstoreError('usage', `${label} ${problem}`, { hint });
}

/** Quotes text from the file for a message, cut to 40 characters. */
export function quoted(text: string): string {
  return text.length > 40 ? `"${text.slice(0, 40)}…"` : `"${text}"`;
}
