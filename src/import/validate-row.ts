// Collects the rows and problems of a file, so that one run reports all problems.
import type { NewCategory } from '../api/types.ts';
import type { Problem } from '../errors.ts';
import { PetstoreError } from '../errors.ts';
import { escapeControls } from '../escape.ts';
import { formatCount, formatNumber } from '../format.ts';

/** `id` is accepted because `categories list` prints it, but it is never sent. */
const KNOWN_FIELDS = new Set(['id', 'name', 'description']);
/** The number of problems in a message; `problems` has all of them. */
const SHOWN = 20;
const MOST_NAMED = 3;

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
    // Many exporters write null for a missing value.
    this.rows.push(description == null ? { name, line } : { name, description, line });
  }

  addInvalid(message: string, line: number): void {
    this.#problems.push({ line, row: this.count + 1, message: escapeControls(message) });
  }

  /** @returns the error to throw if the rest of the file cannot be read */
  fatal(message: string, line: number, hint?: string): PetstoreError {
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
  return problems.every(({ message }) => /^unknown | column without a name$/.test(message))
    ? 'use --ignore-extra to ignore unknown columns and fields'
    : 'correct the file and run the same command again';
}

function problemOf(value: unknown, ignoreExtra: boolean): string | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'expected an object with "name"';
  const unknown = ignoreExtra ? undefined : Object.keys(value).find((field) => !KNOWN_FIELDS.has(field));
  if (unknown !== undefined) return `unknown field ${quoted(unknown)}`;
  const { name, description } = value as Readonly<Record<string, unknown>>;
  if (name === undefined) return 'name is missing';
  if (typeof name !== 'string') return 'name must be a string';
  if (name.trim() === '') return 'name is blank';
  if (typeof (description ?? '') !== 'string') return 'description must be a string';
  const halved = Object.entries({ name, description }).find(([, text]) => /\p{Surrogate}/u.test(String(text)));
  return halved && `${halved[0]} contains an unpaired surrogate`;
}

/** @param label what cannot be used, for example `stdin` */
export function unusable(label: string, problem: string, hint: string): PetstoreError {
  return new PetstoreError('usage', `${label} ${problem}`, { hint });
}

/** A warning about names that differ from each other only in case, spaces or Unicode form. */
export function lookAlikes(rows: readonly NewCategory[]): string | undefined {
  const firsts = new Map<string, string>();
  const pairs = new Set<string>();
  for (const { name } of rows) {
    const key = name.normalize('NFKC').replace(/\s+/g, ' ').trim().toLowerCase();
    const first = firsts.get(key) ?? name;
    firsts.set(key, first);
    if (first !== name) pairs.add(`${quoted(first)} and ${quoted(name)}`);
  }
  return pairs.size === 0 ? undefined : `names differ only in case, spaces or Unicode form: ${listed([...pairs])}`;
}

/** A warning about rows that repeat the name of an earlier one. */
export function repeatedNames(rows: readonly FileRow[]): string | undefined {
  const firsts = new Map<string, FileRow>();
  const repeats: string[] = [];
  let differ = '';
  for (const row of rows) {
    const { name, description, line } = row;
    const first = firsts.get(name);
    if (!first) firsts.set(name, row);
    else repeats.push(`line ${line} ${quoted(name)}`);
    if (first && description !== undefined && description !== first.description)
      differ = '; the first description of a name is used';
  }
  const what = repeats.length === 1 ? 'row repeats a name and is' : 'rows repeat a name and are';
  const count = formatNumber(repeats.length);
  return repeats.length === 0 ? undefined : `${count} ${what} skipped: ${listed(repeats)}${differ}`;
}

function listed(some: readonly string[]): string {
  const more = some.length > MOST_NAMED ? `, and ${formatNumber(some.length - MOST_NAMED)} more` : '';
  return `${some.slice(0, MOST_NAMED).join(', ')}${more}`;
}

/** Quotes text from the file for a message, cut to 40 characters. */
export function quoted(text: string): string {
  return text.length > 40 ? `"${text.slice(0, 40)}…"` : `"${text}"`;
}
