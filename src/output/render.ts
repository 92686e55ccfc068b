// Renders a result for stdout: one renderer per format, whose packages are loaded on use. The only file that imports chalk.
import { PetstoreError } from '../errors.ts';
import { terminalSafeJson } from '../escape.ts';
import { stringifyJson } from '../json.ts';
import type { Column, Style, TextContext, View } from './view.ts';

export interface OutputTarget {
  readonly isTTY: boolean;
  /** Width in cells; undefined for a pipe, 0 for a terminal that does not report its width. */
  readonly columns: number | undefined;
  readonly color: boolean;
  readonly now: () => number;
  /** Removes keys from a cell before it is cut or wrapped. */
  readonly redact?: (text: string) => string;
}

/** Returns the pieces to write, in order; each piece of text ends in a line break. */
export type Renderer<Data> = (data: Data) => Iterable<string | Uint8Array>;

interface OutputFormat {
  readonly needsRecords: boolean;
  load<Data>(view: View<Data>, target: OutputTarget): Promise<Renderer<Data>>;
}

const OUTPUT_FORMATS = {
  table: { needsRecords: false, load: loadText },
  json: {
    needsRecords: false,
    load: async (view, target) => (data) => [`${jsonText(view.json ? view.json(data) : data, target.isTTY)}\n`],
  },
  ndjson: {
    needsRecords: true,
    load: async (view) => (data) => (view.records?.rows(data) ?? []).map((row) => `${jsonText(row)}\n`),
  },
  csv: { needsRecords: true, load: (view, target) => loadDelimited('csv', view, target) },
  tsv: { needsRecords: true, load: (view, target) => loadDelimited('tsv', view, target) },
} satisfies Readonly<Record<string, OutputFormat>>;

export type Format = keyof typeof OUTPUT_FORMATS;

export const FORMATS = Object.keys(OUTPUT_FORMATS) as readonly Format[];

/**
 * Loads the renderer of a format; call it before anything is sent, so that the result can be printed afterwards.
 * @throws PetstoreError `usage` if the format needs records and the view has none
 */
export async function loadRenderer<Data>(
  format: Format,
  view: View<Data>,
  target: OutputTarget,
): Promise<Renderer<Data>> {
  const { needsRecords, load }: OutputFormat = OUTPUT_FORMATS[format];
  if (needsRecords && !view.records) {
    throw new PetstoreError('usage', `--format ${format} is available only for \`petstore categories list\``, {
      hint: 'use --json',
    });
  }
  return load(view, target);
}

/** Serializes a value of `parseJson`, with every digit kept and control characters escaped. */
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

async function loadText<Data>(view: View<Data>, target: OutputTarget): Promise<Renderer<Data>> {
  const style = await loadStyle(target.color);
  const table = view.tables && (await import('./table.ts')).table;
  // The width is unknown if the terminal reports 0 columns.
  const columns = target.columns === 0 ? undefined : target.columns;
  const { redact = (text) => text } = target;
  const layOut: TextContext['table'] = (fields, rows, options) => {
    const clean = fields.map((field) => ({
      ...field,
      value: (row: (typeof rows)[number]) => redact(field.value(row) ?? ''),
    }));
    return table?.(clean, rows, { columns, style, ...options }) ?? [];
  };
  return (data) => {
    if (view.bytes && !target.isTTY) return [view.bytes(data)];
    return view.text(data, { style, columns, now: target.now(), table: layOut });
  };
}

/**
 * Only the 16 named colors are used, which terminal themes keep readable on dark and light backgrounds.
 * @param color from `hasColor`; chalk itself ignores NO_COLOR
 */
export async function loadStyle(color: boolean): Promise<Style> {
  const { Chalk } = await import('chalk');
  return new Chalk({ level: color ? 1 : 0 });
}
