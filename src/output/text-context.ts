// What a view for people may know of its stream: colour, width, time, and tables fitted to it.
import type { ColorLevel } from '../io.ts';
import { plainStyle } from './plain-style.ts';
import { table } from './table.ts';
import type { Style, TextContext } from './view.ts';

/**
 * The painter for one stream; chalk is loaded only where there is colour.
 * @param level from `colorLevel`
 * @returns a style for that stream
 */
export async function styleFor(level: ColorLevel): Promise<Style> {
  if (level === 0) return plainStyle;
  return (await import('./style.ts')).createStyle(level);
}

/**
 * Makes the look of one stream.
 * @param stream its colour level; its width in cells, where undefined and 0 (a terminal that does not know) mean full text;
 *   and the wall clock in epoch milliseconds
 * @returns what a view is handed
 */
export async function createTextContext(stream: {
  readonly colorLevel: ColorLevel;
  readonly columns: number | undefined;
  readonly now: number;
}): Promise<TextContext> {
  const style = await styleFor(stream.colorLevel);
  const columns = stream.columns === 0 ? undefined : stream.columns;
  return { style, columns, now: stream.now, table: (fields, rows) => table(fields, rows, columns, style) };
}
