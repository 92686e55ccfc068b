// Data, its view and a format into what stdout gets: the one place that chooses. JSON loads no table, chalk or string-width.
import { PetstoreError } from '../errors.ts';
import { terminalSafeJson } from '../escape.ts';
import type { ColorLevel } from '../io.ts';
import { stringifyJson } from '../json.ts';
import type { Column, Format, View } from './view.ts';

/** The stream that is rendered for. */
export interface OutputTarget {
  readonly isTTY: boolean;
  /** Width in cells; undefined where it is no terminal, 0 where the terminal does not know. */
  readonly columns: number | undefined;
  /** From `colorLevel`. */
  readonly colorLevel: ColorLevel;
  /** Wall clock, epoch milliseconds. */
  readonly now: number;
}

/**
 * Renders a verb's data.
 * @param data what the verb returned
 * @param view how the verb wants it shown
 * @param format what was asked for
 * @param stage the stream it goes to
 * @returns pieces to write one after the other, made as they are asked for; each ends in a line break, but for bytes
 * @throws PetstoreError `usage` where the format needs rows and the view has none
 */
export async function render<Data>(
  data: Data,
  view: View<Data>,
  format: Format,
  stage: OutputTarget,
): Promise<Iterable<string | Uint8Array>> {
  switch (format) {
    case 'json':
      return [`${jsonText(view.json ? view.json(data) : data, stage.isTTY)}\n`];
    case 'ndjson':
      return lines(rowsOf(data, view).rows);
    case 'csv':
    case 'tsv': {
      const { delimited } = await import('./delimited.ts');
      const { columns, rows } = rowsOf(data, view);
      return delimited(format, columns, rows, stage.isTTY);
    }
    case 'table': {
      if (view.bytes && !stage.isTTY) return [view.bytes(data)];
      const { createTextContext } = await import('./text-context.ts');
      return view.text(data, await createTextContext(stage));
    }
  }
}

/**
 * Loads what a format needs. Called before anything is sent: a create that cannot be shown must not have happened, and
 * the program may be replaced by a newer one while it waits.
 * @param format what was asked for
 * @param level colour level of the stream
 */
export async function preload(format: Format, level: ColorLevel): Promise<void> {
  if (format === 'csv' || format === 'tsv') await import('./delimited.ts');
  else if (format === 'table') await import('./text-context.ts').then(({ styleFor }) => styleFor(level));
}

/**
 * Writes a value as JSON that is safe to print anywhere: same value, every digit kept.
 * @param value data as `parseJson` gives it
 * @param pretty two spaces per level, for readers
 * @returns one JSON document without a line break at its end
 */
export function jsonText(value: unknown, pretty = false): string {
  return terminalSafeJson(stringifyJson(value, pretty ? 2 : 0));
}

const PAGE = 500;

function* lines(rows: readonly unknown[]): Generator<string> {
  for (let from = 0; from < rows.length; from += PAGE) {
    let page = '';
    for (const row of rows.slice(from, from + PAGE)) page += `${jsonText(row)}\n`;
    yield page;
  }
}

function rowsOf<Data>(data: Data, view: View<Data>): { columns: readonly Column<unknown>[]; rows: readonly unknown[] } {
  if (!view.records) {
    throw new PetstoreError('usage', 'this command has no rows to print in that format', { hint: 'use --json' });
  }
  return { columns: view.records.columns as readonly Column<unknown>[], rows: view.records.rows(data) };
}
