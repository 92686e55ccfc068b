// What makes a record a row: a name, perhaps a description, and nothing that nobody would look at.

import type { RowStore } from './row-store.ts';
import type { ValidationErrors } from './validation-errors.ts';
import { quoted } from './validation-errors.ts';

/** Where checked rows go, and what is allowed in them. */
export interface RowSink {
  readonly rows: RowStore;
  readonly problems: ValidationErrors;
  /** True: other fields than `name`, `description` and `id` are passed over. */
  readonly ignoreExtra: boolean;
  /** How many rows the file has so far, bad ones included: the number of the row at hand. */
  seen: number;
}

const HALF_CHARACTER = /\p{Surrogate}/u;

/** The fields a row may have; `id` is what `categories list` prints and is never sent (contract, section 7). */
export const KNOWN_FIELDS: ReadonlySet<string> = new Set(['id', 'name', 'description']);

/**
 * Checks one JSON value and keeps it.
 * @param value what the file holds
 * @param line the line it begins on
 * @param sink where it goes, or what is wrong with it
 */
export function takeJson(value: unknown, line: number, sink: RowSink): void {
  const fields = isObject(value) ? value : {};
  const wrong = isObject(value) ? wrongFields(value, sink.ignoreExtra) : 'expected an object with a name';
  if (wrong !== undefined) sink.problems.add(line, wrong, sink.seen);
  // Many exporters write null where there is nothing.
  else takeText(fields['name'] as string, (fields['description'] ?? undefined) as string | undefined, line, sink);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function wrongFields(value: Readonly<Record<string, unknown>>, ignoreExtra: boolean): string | undefined {
  const unknown = ignoreExtra ? undefined : Object.keys(value).find((field) => !KNOWN_FIELDS.has(field));
  if (unknown !== undefined) return `unknown field ${quoted(unknown)} (--ignore-extra passes over it)`;
  const { name, description } = value;
  if (name === undefined) return 'name is missing';
  if (typeof name !== 'string') return 'name must be text';
  const noText = description !== undefined && description !== null && typeof description !== 'string';
  return noText ? 'description must be text' : undefined;
}

/**
 * Checks the fields of one row and keeps it (service.md, section 2: name required, description optional).
 * @param name the name's text
 * @param description undefined where the row has none
 * @param line the line it begins on
 * @param sink where it goes, or what is wrong with it
 */
export function takeText(name: string, description: string | undefined, line: number, sink: RowSink): void {
  const wrong = wrongText(name, description);
  if (wrong === undefined) sink.rows.add(name, description);
  else sink.problems.add(line, wrong, sink.seen);
}

function wrongText(name: string, description: string | undefined): string | undefined {
  if (name === '') return 'name is empty';
  if (HALF_CHARACTER.test(name)) return 'name holds half a character (a lone surrogate)';
  const halved = description !== undefined && HALF_CHARACTER.test(description);
  return halved ? 'description holds half a character (a lone surrogate)' : undefined;
}
