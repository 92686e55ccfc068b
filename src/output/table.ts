// Tables made with cli-table3 and the version of string-width that it uses; rows are laid out in pages.
import CliTable from 'cli-table3';
import stringWidth from 'string-width';
import { escapeControls } from '../escape.ts';
import type { Column, Style } from './view.ts';

const GAP_CELLS = 2;
/** cli-table3's time grows with the square of a table's rows. */
const PAGE_ROWS = 100;
/** Without a terminal, wider cells do not widen their column: one long name would pad all rows. */
const PADDED_CELLS = 40;
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
  { columns: available, style }: { readonly columns: number | undefined; readonly style: Style },
): Generator<string> {
  const heads = columns.map(({ header }) => escapeControls(header).toUpperCase());
  const text = (row: Row, { value, wrap }: Column<Row>): string => escapeControls(value(row) ?? '', wrap && '\n');
  const natural = columns.map((column, at) => {
    const isLast = at === columns.length - 1;
    const longest = available === undefined && !isLast ? PADDED_CELLS : Number.POSITIVE_INFINITY;
    const widen = (widest: number, cells: number): number => (cells > longest ? widest : Math.max(widest, cells));
    return rows.reduce((widest, row) => widen(widest, width(text(row, column))), width(heads[at] ?? ''));
  });
  // Right-aligned columns hold numbers, which must keep every digit.
  const numeric = columns.map(({ align }) => align === 'right');
  const widths = available === undefined ? natural : fitWidths(natural, available, numeric);
  const page = (lines: readonly string[][], cellWidths = widths): string => {
    const made = new CliTable({
      chars: { ...NO_BORDERS, middle: ' ' },
      style: { 'padding-left': 0, 'padding-right': 1, head: [], border: [], compact: true },
      colWidths: cellWidths.map((cells) => cells + 1),
      colAligns: columns.map(({ align }) => align ?? 'left'),
    });
    made.push(...lines);
    // The lookbehind keeps the expression linear in time.
    return `${made.toString().replace(/(?<! ) +$/gm, '')}\n`;
  };
  // Wrapped and truncated here: cli-table3 counts UTF-16 units and would lose part of a wrapped text.
  const cell = (row: Row, column: Column<Row>, at: number): string => {
    const [content, cells] = [text(row, column), widths[at] ?? 0];
    if (column.wrap) return available === undefined ? content : wrap(content, cells);
    const visible = available === undefined ? content : cut(content, cells);
    return column.paint ? column.paint(row, style)(visible) : visible;
  };
  yield `${style.bold(page([heads.map((head, at) => cut(head, widths[at] ?? 0))]).trimEnd())}\n`;
  for (let from = 0; from < rows.length; from += PAGE_ROWS) {
    const lines = rows.slice(from, from + PAGE_ROWS).map((row) => columns.map((column, at) => cell(row, column, at)));
    const widened = (line: readonly string[]): number[] =>
      widths.map((cells, at) => Math.max(cells, width(line[at] ?? '')));
    const isWide = available === undefined && lines.some((line) => widened(line).join() !== widths.join());
    // A row with a wider cell is laid out alone, and so are its neighbors.
    if (isWide) for (const line of lines) yield page([line], widened(line));
    else yield page(lines);
  }
}

function cut(text: string, cells: number): string {
  if (width(text) <= cells) return text;
  return cells < 2 ? '…' : `${longestPrefix(text, cells - 1)}…`;
}

function width(text: string): number {
  return Math.max(...text.split('\n').map((line) => stringWidth(line)));
}

/**
 * Distributes the available width: a column shrinks only to its fair share of what smaller columns leave.
 * @param whole columns that keep their width if that is at most half of the terminal
 */
export function fitWidths(natural: readonly number[], available: number, whole: readonly boolean[] = []): number[] {
  const columns = natural.map((cells, at) => ({ at, cells, isKept: whole[at] === true && cells <= available / 2 }));
  const kept = columns.filter(({ isKept }) => isKept);
  const shared = columns.filter(({ isKept }) => !isKept).sort((a, b) => a.cells - b.cells);
  const widths = [...natural];
  let left = available - GAP_CELLS * (natural.length - 1);
  for (const { cells } of kept) left -= cells;
  for (const [done, { at, cells }] of shared.entries()) {
    const share = Math.floor(left / (shared.length - done));
    const given = Math.max(1, Math.min(cells, share));
    widths[at] = given;
    left -= given;
  }
  return widths;
}

/** Breaks lines between words, and a word that is longer than a line anywhere. */
function wrap(text: string, cells: number): string {
  return text.replace(/.+/g, (line) => (width(line) > cells ? wrapLine(line, cells) : line));
}

function wrapLine(text: string, cells: number): string {
  const lines: string[] = [];
  let line = '';
  for (const word of text.trim().split(/\s+/)) {
    const longer = line === '' ? word : `${line} ${word}`;
    if (stringWidth(longer) <= cells) {
      line = longer;
      continue;
    }
    if (line !== '') lines.push(line);
    line = word;
    while (stringWidth(line) > cells) {
      const part = longestPrefix(line, cells);
      lines.push(part);
      line = line.slice(part.length);
    }
  }
  return [...lines, line].join('\n');
}

/** The longest prefix of a text that fits; at least one character. */
function longestPrefix(text: string, cells: number): string {
  let part = '';
  for (const char of text) {
    if (part !== '' && stringWidth(part + char) > cells) break;
    part += char;
  }
  return part;
}
