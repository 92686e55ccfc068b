// Renders a result for stdout by the view of its command: one renderer per format, whose packages are loaded on use.
import { PetstoreError } from '../../errors.ts';
import { escapeControls, terminalSafeJson } from '../../text/escape.ts';
import { stringifyJson } from '../../text/json.ts';
import type { Context, Environment, Output } from '../context.ts';
import { supportsColor } from '../context.ts';
import type { GlobalOptions } from '../global-options.ts';
import type { Column, Style, TextContext, View } from './view.ts';

/** Rows per call of csv-stringify, which takes about 1.5 times as long for all rows at once. */
const PAGE_ROWS = 500;
/** CSV and TSV fields to quote: those of RFC 4180, empty ones, and outer blanks and byte order marks, which readers may drop. */
const QUOTED = /["\r\n]|^$|^[\s\ufeff]|\s$/;

/** Returns the pieces to write, in order; each piece of text ends in a line break. */
type Renderer<Data> = (data: Data) => Iterable<string | Uint8Array>;

/**
 * Loads the renderer of a format; call it before anything is sent, so that the result can be printed afterwards.
 * @throws PetstoreError `usage` if the format needs records and the view has none
 */
export async function loadRenderer<Data>(
  view: View<Data>,
  context: Context,
  { format, color }: Pick<GlobalOptions, 'format' | 'color'>,
): Promise<Renderer<Data>> {
  const { isTTY } = context.stdout;
  if (format === 'table') return loadText(view, context, color);
  if (format === 'json') {
    const text = (data: Data): string => stringifyJson(view.json ? view.json(data) : data, isTTY ? 2 : 0);
    return (data) => [`${terminalSafeJson(text(data))}\n`];
  }
  const { records } = view;
  if (!records) {
    throw new PetstoreError('usage', `--format ${format} is available only for \`petstore categories list\``, {
      hint: 'use --json',
    });
  }
  if (format === 'ndjson') {
    const line = (row: unknown): string => `${stringifyJson(row)}\n`;
    return (data) => [terminalSafeJson(records.rows(data).map(line).join(''))];
  }
  const { stringify } = await import('csv-stringify/sync');
  // On a terminal, cells are escaped, so the text is no longer exact.
  const cell = (text: string | undefined) => (isTTY && text !== undefined ? escapeControls(text) : text);
  // TSV is quoted like CSV, as spreadsheets and `categories import` expect.
  const options = { delimiter: format === 'csv' ? ',' : '\t', quoted_match: QUOTED };
  return function* (data) {
    const columns = records.columns(data) as readonly Column<unknown>[];
    const rows = records.rows(data);
    yield stringify([columns.map(({ header }) => cell(header))], options);
    for (let from = 0; from < rows.length; from += PAGE_ROWS) {
      const page = rows.slice(from, from + PAGE_ROWS);
      yield stringify(
        page.map((row) => columns.map((column) => cell(column.value(row)))),
        options,
      );
    }
  };
}

async function loadText<Data>(
  view: View<Data>,
  { stdout, env, clock }: Context,
  color: boolean,
): Promise<Renderer<Data>> {
  const style = await loadStyle(stdout, env, color);
  const table = view.tables && (await import('./table.ts')).formatTable;
  // The width is unknown if the terminal reports 0 columns.
  const columns = stdout.columns || undefined;
  const layOut: TextContext['table'] = (fields, rows) => table?.(fields, rows, { columns, style }) ?? [];
  return (data) => {
    if (view.bytes && !stdout.isTTY) return [view.bytes(data)];
    return view.text(data, { style, now: clock.now(), table: layOut });
  };
}

/**
 * Only the 16 named colors are used, which terminal themes keep readable on dark and light backgrounds.
 * @param wanted false after `--no-color`; chalk itself ignores NO_COLOR
 */
export async function loadStyle(stream: Output, env: Environment, wanted: boolean): Promise<Style> {
  const { Chalk } = await import('chalk');
  return new Chalk({ level: supportsColor(stream, env, wanted) ? 1 : 0 });
}
