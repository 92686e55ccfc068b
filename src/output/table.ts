// Tables by cli-table3: measured, cut and wrapped here by terminal cells, laid out there page by page.
import CliTable from 'cli-table3';
import layout from 'cli-table3/src/utils.js';
import { escapeControls } from '../escape.ts';
import { cellWidth, pad, truncate, wrapCells } from './cell-width.ts';
import type { Column, Style } from './view.ts';

// cli-table3 measures with an older string-width, which disagrees with terminals about newer emoji and decomposed Hangul.
layout.strlen = lineWidth;
layout.pad = (text, width, _character, align) => pad(text, width, align === 'right' ? 'right' : 'left');
layout.truncate = (text) => text;

const GAP_CELLS = 2;
/** cli-table3's time grows with the square of a table's rows. */
const PAGE_ROWS = 100;
const BORDERS = ['top', 'top-mid', 'top-left', 'top-right', 'bottom', 'bottom-mid', 'bottom-left', 'bottom-right'];
const NO_BORDERS = Object.fromEntries(
  [...BORDERS, 'left', 'left-mid', 'mid', 'mid-mid', 'right', 'right-mid'].map((name) => [name, '']),
);

/**
 * Lays out rows under headings, two spaces between columns.
 * @param columns cells are escaped here, so that one row is one line unless its column wraps
 * @param options `columns`: the terminal's width in cells, undefined for full text
 */
export function* table<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  options: { readonly columns: number | undefined; readonly style: Style; readonly headings?: boolean },
): Generator<string> {
  const headings = columns.map(({ header }) =>
    options.headings === false ? '' : escapeControls(header).toUpperCase(),
  );
  const cells = columns.map((column) =>
    rows.map((row) => escapeControls(column.value(row) ?? '', column.wrap && '\n')),
  );
  const natural = cells.map((column, at) =>
    column.reduce((widest, cell) => Math.max(widest, lineWidth(cell)), cellWidth(headings[at] ?? '')),
  );
  // Every digit of a number is kept.
  const numeric = columns.map(({ align }) => align === 'right');
  const widths = options.columns === undefined ? natural : fitWidths(natural, options.columns, numeric);
  const page = (lines: string[][]): string => {
    const made = new CliTable({
      head: [],
      chars: { ...NO_BORDERS, middle: ' ' },
      style: { 'padding-left': 0, 'padding-right': 1, head: [], border: [], compact: true },
      colWidths: widths.map((width) => width + 1),
      colAligns: columns.map(({ align }) => align ?? 'left'),
    });
    made.push(...lines);
    // The look-behind keeps this linear: one long cell pads all others with as many spaces.
    return `${made.toString().replace(/(?<! ) +$/gm, '')}\n`;
  };
  if (options.headings !== false) {
    yield options.style.bold(page([headings.map((heading, at) => truncate(heading, widths[at] ?? 0))]).trimEnd()) +
      '\n';
  }
  for (let from = 0; from < rows.length; from += PAGE_ROWS) {
    const lines = Array.from({ length: Math.min(PAGE_ROWS, rows.length - from) }, (_, row) =>
      columns.map(({ wrap, paint }, at) => {
        const [cell = '', width = 0] = [cells[at]?.[from + row], widths[at]];
        if (wrap) return wrapCells(cell, width).join('\n');
        const text = truncate(cell, width);
        return paint ? paint(rows[from + row] as Row, options.style)(text) : text;
      }),
    );
    yield page(lines);
  }
}

function lineWidth(cell: string): number {
  return cell.includes('\n') ? Math.max(...cell.split('\n').map(cellWidth)) : cellWidth(cell);
}

/**
 * Shares a width fairly: a column is narrowed only to its share of what narrower columns leave.
 * @param whole columns that keep their width while the others keep at least half of the terminal
 */
export function fitWidths(natural: readonly number[], available: number, whole: readonly boolean[] = []): number[] {
  const widths = [...natural];
  const rank = (at: number): number => (whole[at] && (natural[at] ?? 0) <= available / 2 ? 0 : (natural[at] ?? 0));
  let left = available - GAP_CELLS * (natural.length - 1);
  const order = natural.map((_, at) => at).sort((a, b) => rank(a) - rank(b));
  for (const [done, at] of order.entries()) {
    const share = rank(at) === 0 ? left : Math.floor(left / (natural.length - done));
    widths[at] = Math.max(1, Math.min(natural[at] ?? 0, share));
    left -= widths[at] ?? 0;
  }
  return widths;
}
