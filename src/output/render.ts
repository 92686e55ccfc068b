// From a result and its view to what stdout gets: one renderer per format, its packages loaded when used. The only file that knows chalk.
import { PetstoreError } from '../errors.ts';
import { terminalSafeJson } from '../escape.ts';
import type { ColorLevel } from '../io.ts';
import { stringifyJson, stringifyLines } from '../json.ts';
import type { Column, Style, TextContext, View } from './view.ts';

export interface OutputTarget {
  readonly isTTY: boolean;
  /** Width in cells; undefined for a pipe, 0 for a terminal that does not know its width. */
  readonly columns: number | undefined;
  readonly colorLevel: ColorLevel;
  readonly now: () => number;
}

/** Returns pieces to write in order, made on demand; each but bytes ends in a line break. */
export type Renderer<Data> = (data: Data) => Iterable<string | Uint8Array>;

interface OutputFormat {
  /** Whether it needs a view with records. */
  readonly needsRows: boolean;
  load<Data>(view: View<Data>, target: OutputTarget): Promise<Renderer<Data>>;
}

const OUTPUT_FORMATS = {
  table: { needsRows: false, load: loadText },
  json: {
    needsRows: false,
    load: async (view, target) => (data) => [`${jsonText(view.json ? view.json(data) : data, target.isTTY)}\n`],
  },
  ndjson: {
    needsRows: true,
    load: async (view) => (data) => [terminalSafeJson(stringifyLines(view.records?.rows(data) ?? []))],
  },
  csv: { needsRows: true, load: (view, target) => loadDelimited('csv', view, target) },
  tsv: { needsRows: true, load: (view, target) => loadDelimited('tsv', view, target) },
} satisfies Readonly<Record<string, OutputFormat>>;

export type Format = keyof typeof OUTPUT_FORMATS;

export const FORMATS = Object.keys(OUTPUT_FORMATS) as readonly Format[];

/**
 * Loads what a format needs. To be called before anything is sent: the result must be printable afterwards.
 * @throws PetstoreError `usage` if the format needs rows and the view has none
 */
export async function loadRenderer<Data>(
  format: Format,
  view: View<Data>,
  target: OutputTarget,
): Promise<Renderer<Data>> {
  const { needsRows, load }: OutputFormat = OUTPUT_FORMATS[format];
  if (needsRows && !view.records) {
    throw new PetstoreError('usage', `--format ${format} is available only for \`petstore categories list\``, {
      hint: 'use --json',
    });
  }
  return load(view, target);
}

/** Writes a value of `parseJson` as JSON that is safe to print: every digit kept, control characters escaped. */
export function jsonText(value: unknown, pretty = false): string {
  return terminalSafeJson(stringifyJson(value, pretty ? 2 : 0));
}

async function loadDelimited<Data>(
  format: 'csv' | 'tsv',
  { records }: View<Data>,
  { isTTY }: OutputTarget,
): Promise<Renderer<Data>> {
  const { delimited } = await import('./delimited.ts');
  const columns = (records?.columns ?? []) as readonly Column<unknown>[];
  return (data) => delimited(format, columns, records?.rows(data) ?? [], isTTY);
}

/** Loads the renderer for people; cli-table3 only for views with tables. */
async function loadText<Data>(view: View<Data>, target: OutputTarget): Promise<Renderer<Data>> {
  const style = await loadStyle(target.colorLevel);
  const table = view.tables && (await import('./table.ts')).table;
  // The width is unknown if the terminal reports 0 columns.
  const columns = target.columns === 0 ? undefined : target.columns;
  const layOut: TextContext['table'] = (fields, rows, options) =>
    table?.(fields, rows, { columns, style, ...options }) ?? [];
  return (data) => {
    if (view.bytes && !target.isTTY) return [view.bytes(data)];
    return view.text(data, { style, columns, now: target.now(), table: layOut });
  };
}

/**
 * Only the 16 named colors are used: the terminal's own theme keeps them readable on dark and on light.
 * @param level from `colorLevel`; chalk itself ignores NO_COLOR
 */
export async function loadStyle(level: ColorLevel): Promise<Style> {
  const { Chalk } = await import('chalk');
  return new Chalk({ level });
}
