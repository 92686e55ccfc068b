// The rules of a row, and everything in a file that breaks them, by line.
import type { NewCategory } from '../api/types.ts';
import type { Problem } from '../errors.ts';
import { PetstoreError } from '../errors.ts';
import { escapeControls } from '../escape.ts';
import { formatCount, formatNumber } from '../format.ts';

/** `id` is what `categories list` prints; it is never sent. */
export const KNOWN_FIELDS: ReadonlySet<string> = new Set(['id', 'name', 'description']);

/** How many problems the message lists; `problems` has all of them. */
const SHOWN = 20;

/** Collects the valid rows of one file and every problem, so that one run reports all of them. */
export class RowValidator {
  readonly rows: NewCategory[] = [];
  readonly problems: Problem[] = [];
  readonly #label: string;
  readonly #ignoreExtra: boolean;
  #seen = 0;

  /** @param ignoreExtra true: fields other than name, description and id are allowed */
  constructor(label: string, ignoreExtra: boolean) {
    this.#label = label;
    this.#ignoreExtra = ignoreExtra;
  }

  /** Adds a row from JSON text that begins on this line. */
  addJson(source: string, line: number): void {
    let value: unknown;
    try {
      value = JSON.parse(source);
    } catch {
      // The parser's own message quotes the file.
      this.addInvalid('not valid JSON', line);
      return;
    }
    const wrong = this.#invalidFields(value);
    if (wrong !== undefined) {
      this.addInvalid(wrong, line);
      return;
    }
    const { name, description } = value as NewCategory;
    // Many exporters write null for a missing value.
    this.addRow(name, description ?? undefined, line);
  }

  /** Whether the file has shown neither a row nor a bad one yet. */
  get isEmpty(): boolean {
    return this.#seen === 0;
  }

  /** Adds a row whose fields are text or missing. */
  addRow(name: string, description: string | undefined, line: number): void {
    const wrong = invalidText(name, description);
    if (wrong !== undefined) {
      this.addInvalid(wrong, line);
      return;
    }
    this.#seen++;
    this.rows.push(description === undefined ? { name } : { name, description });
  }

  addInvalid(message: string, line: number): void {
    this.problems.push({ line, row: ++this.#seen, message: escapeControls(message) });
  }

  /** Notes a line that cannot be read, whichever rows it holds. */
  addInvalidLine(message: string, line: number): void {
    this.problems.push({ line, message });
  }

  /** @returns the message about a field or column that an import does not know; undefined where all are fine */
  unknownField(names: readonly string[], what: 'field' | 'column'): string | undefined {
    const unknown = this.#ignoreExtra ? undefined : names.find((name) => !KNOWN_FIELDS.has(name));
    const remedy = `allowed with --ignore-extra${what === 'column' ? ', or say what it is with --map' : ''}`;
    return unknown === undefined ? undefined : `unknown ${what} ${quoted(unknown)} (${remedy})`;
  }

  /** @returns the error to throw where the rest of the file cannot be read */
  fatal(message: string, line: number): PetstoreError {
    this.problems.push({ line, message: escapeControls(message) });
    return this.#error();
  }

  /** @throws PetstoreError `usage` where the file has problems */
  check(): void {
    if (this.problems.length > 0) throw this.#error();
  }

  #error(): PetstoreError {
    const problems = [...this.problems].sort((a, b) => a.line - b.line);
    const { length } = problems;
    const lines = problems
      .slice(0, SHOWN)
      .map(({ line, row, message }) => `  line ${line}${row === undefined ? '' : ` (row ${row})`}: ${message}`);
    if (length > SHOWN) lines.push(`  and ${formatNumber(length - SHOWN)} more`);
    const title = `${escapeControls(this.#label)} has ${formatCount(length, 'problem')}; nothing was sent`;
    return new PetstoreError('usage', [title, ...lines].join('\n'), {
      hint: 'correct the file and run the same command again',
      problems,
    });
  }

  #invalidFields(value: unknown): string | undefined {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'expected an object with a name';
    const unknown = this.unknownField(Object.keys(value), 'field');
    if (unknown !== undefined) return unknown;
    const { name, description } = value as Readonly<Record<string, unknown>>;
    if (name === undefined) return 'name is missing';
    if (typeof name !== 'string') return 'name must be text';
    const isText = description === undefined || description === null || typeof description === 'string';
    return isText ? undefined : 'description must be text';
  }
}

const LONE_SURROGATE = /\p{Surrogate}/u;

function invalidText(name: string, description: string | undefined): string | undefined {
  if (name.trim() === '') return 'name is blank';
  if (LONE_SURROGATE.test(name)) return 'name contains half a character (a lone surrogate)';
  const halved = description !== undefined && LONE_SURROGATE.test(description);
  return halved ? 'description contains half a character (a lone surrogate)' : undefined;
}

/** @returns a piece of the file for a message: in quotes, at most 40 characters of it */
export function quoted(text: string): string {
  return text.length > 40 ? `"${text.slice(0, 40)}…"` : `"${text}"`;
}
