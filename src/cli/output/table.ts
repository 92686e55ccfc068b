// Tables: on a terminal, made with cli-table3 and the version of string-width that it uses; rows are laid out in pages.
import CliTable from 'cli-table3';
import stringWidth from 'string-width';
import { escapeControls } from '../../text/escape.ts';
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

type LayOut = (rows: readonly string[][], widths: readonly number[], alignments: ('left' | 'right')[]) => string;

/**
 * Lays out rows under headings, two spaces between columns.
 * @param columns their cells are escaped here, so that one row is one line unless a column wraps
 * @param options `columns`: the terminal's width in cells, undefined for full text
 */
export function* formatTable<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  { columns: available, style }: { readonly columns: number | undefined; readonly style: Style },
): Generator<string> {
  const heads = columns.map(({ header }) => escapeControls(header).toUpperCase());
  const text = (row: Row, { value, wrap }: Column<Row>): string => escapeControls(value(row) ?? '', wrap && '\n');
  const widest = available === undefined ? PADDED_CELLS : Number.POSITIVE_INFINITY;
  const natural = columns.map((column, at) => {
    const cells = rows.map((row) => width(text(row, column))).filter((one) => one <= widest);
    return cells.reduce((one, other) => Math.max(one, other), width(heads[at] ?? ''));
  });
  const alignments = columns.map(({ align }) => align ?? 'left');
  // Right-aligned columns hold numbers, which must keep every digit.
  const numeric = alignments.map((align) => align === 'right');
  const widths = available === undefined ? natural : fitWidths(natural, available, numeric);
  const layOut = available === undefined ? padded : fitted;
  const cell = (row: Row, column: Column<Row>, at: number): string => {
    const content = text(row, column);
    const shorten = column.wrap ? wrap : truncate;
    const visible = available === undefined ? content : shorten(content, widths[at] ?? 0);
    return column.paint ? column.paint(row, style)(visible) : visible;
  };
  const headings = heads.map((head, at) => truncate(head, widths[at] ?? 0));
  yield `${style.bold(layOut([headings], widths, alignments).trimEnd())}\n`;
  for (let from = 0; from < rows.length; from += PAGE_ROWS) {
    const lines = rows.slice(from, from + PAGE_ROWS).map((row) => columns.map((column, at) => cell(row, column, at)));
    yield layOut(lines, widths, alignments);
  }
}

// On a terminal, cells already fit: cli-table3 counts UTF-16 units and would lose part of wrapped text.
const fitted: LayOut = (rows, widths, colAligns) => {
  const made = new CliTable({
    chars: { ...NO_BORDERS, middle: ' ' },
    style: { 'padding-left': 0, 'padding-right': 1, head: [], border: [], compact: true },
    colWidths: widths.map((cells) => cells + 1),
    colAligns,
  });
  made.push(...rows);
  // The lookbehind keeps the expression linear in time.
  return `${made.toString().replace(/(?<! ) +$/gm, '')}\n`;
};

// Elsewhere, a cell that is wider than its column moves only the rest of its own line.
const padded: LayOut = (rows, widths, alignments) => {
  const pad = (text: string, at: number): string => {
    const space = ' '.repeat(Math.max(0, (widths[at] ?? 0) - stringWidth(text)));
    return alignments[at] === 'right' ? space + text : text + space;
  };
  const lines = rows.flatMap((cells) => {
    const parts = cells.map((content) => content.split('\n'));
    const height = Math.max(...parts.map(({ length }) => length));
    return Array.from({ length: height }, (_, line) => parts.map((part, at) => pad(part[line] ?? '', at)));
  });
  return lines.map((line) => `${line.join(' '.repeat(GAP_CELLS)).trimEnd()}\n`).join('');
};

function truncate(text: string, cells: number): string {
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

/** Breaks lines between words, and breaks a word that is longer than a line anywhere. */
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
