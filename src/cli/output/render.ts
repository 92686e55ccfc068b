// Renders a result for stdout: one renderer per format, whose packages are loaded on use. The only file that imports chalk.
import { PetstoreError } from '../../errors.ts';
import { terminalSafeJson } from '../../text/escape.ts';
import { stringifyJson } from '../../text/json.ts';
import type { Context, Environment, Output } from '../context.ts';
import { supportsColor } from '../context.ts';
import type { GlobalOptions } from '../reference.ts';
import type { Column, Style, TextContext, View } from './view.ts';

type RenderContext = Pick<Context, 'stdout' | 'env' | 'clock'>;
type RenderOptions = Pick<GlobalOptions, 'format' | 'color'>;

/** Returns the pieces to write, in order; each piece of text ends in a line break. */
export type Renderer<Data> = (data: Data) => Iterable<string | Uint8Array>;

/**
 * Loads the renderer of a format; call it before anything is sent, so that the result can be printed afterwards.
 * @throws PetstoreError `usage` if the format needs records and the view has none
 */
export async function loadRenderer<Data>(
  view: View<Data>,
  context: RenderContext,
  { format, color }: RenderOptions,
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
  const { formatDelimited } = await import('./delimited.ts');
  return (data) => {
    const columns = records.columns(data) as readonly Column<unknown>[];
    return formatDelimited(format, columns, records.rows(data), isTTY);
  };
}

async function loadText<Data>(
  view: View<Data>,
  { stdout, env, clock }: RenderContext,
  color: boolean,
): Promise<Renderer<Data>> {
  const style = await loadStyle(stdout, env, color);
  const { formatTable } = await import('./table.ts');
  // The width is unknown if the terminal reports 0 columns.
  const columns = stdout.columns || undefined;
  const table: TextContext['table'] = (fields, rows) => formatTable(fields, rows, { columns, style });
  return (data) => {
    if (view.bytes && !stdout.isTTY) return [view.bytes(data)];
    return view.text(data, { style, now: clock.now(), table });
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
