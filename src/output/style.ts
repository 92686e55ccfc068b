// The one door to chalk: colour by the level decided for one stream. chalk itself ignores NO_COLOR, so it is never asked.
import { Chalk } from 'chalk';
import type { ColorLevel } from '../io.ts';
import type { Style } from './view.ts';

/**
 * Makes the painter for a stream that carries colour. Only the 16 named colours are used: the terminal's own theme
 * keeps them readable on dark and on light; nothing is painted white or black.
 * @param level from `colorLevel`, 1 to 3
 * @returns functions that wrap text in SGR codes
 */
export function createStyle(level: ColorLevel): Style {
  const { bold, dim, red, green, yellow, cyan } = new Chalk({ level });
  return { bold, dim, red, green, yellow, cyan };
}
