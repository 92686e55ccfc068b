// The painter for streams without colour: text stays as it is, and chalk is not loaded.
import type { Style } from './view.ts';

const same = (text: string): string => text;

/** Paints nothing. */
export const plainStyle: Style = { bold: same, dim: same, red: same, green: same, yellow: same, cyan: same };
