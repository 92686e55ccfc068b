// Text for people: colour, width and time of one stream. The only file that knows chalk.
import type { ColorLevel } from '../io.ts';
import type { OutputTarget, Renderer } from './render.ts';
import type { Style, TextContext, View } from './view.ts';

const same = (text: string): string => text;
const plainStyle: Style = { bold: same, dim: same, red: same, green: same, yellow: same, cyan: same };

/** Loads the renderer for people; chalk only where there is colour, cli-table3 only for views with tables. */
export async function loadText<Data>(view: View<Data>, target: OutputTarget): Promise<Renderer<Data>> {
  const style = await loadStyle(target.colorLevel);
  const table = view.tables && (await import('./table.ts')).table;
  // A terminal of 0 columns does not know its width.
  const columns = target.columns === 0 ? undefined : target.columns;
  const layOut: TextContext['table'] = (fields, rows, options) =>
    table?.(fields, rows, { columns, style, ...options }) ?? [];
  return (data) => {
    if (view.bytes && !target.isTTY) return [view.bytes(data)];
    return view.text(data, { style, columns, now: target.now(), table: layOut });
  };
}

/**
 * Only the 16 named colours are used: the terminal's own theme keeps them readable on dark and on light.
 * @param level from `colorLevel`; chalk itself ignores NO_COLOR
 */
export async function loadStyle(level: ColorLevel): Promise<Style> {
  if (level === 0) return plainStyle;
  const { Chalk } = await import('chalk');
  const { bold, dim, red, green, yellow, cyan } = new Chalk({ level });
  return { bold, dim, red, green, yellow, cyan };
}
