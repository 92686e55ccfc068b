// A text bar for terminals that shows a share of a whole.

/**
 * @param cells the width of the bar
 * @returns for example `████████░░░░`; full only for a share of 1, empty only for 0
 */
export function bar(part: number, whole: number, cells: number): string {
  const share = whole > 0 ? Math.min(1, Math.max(0, part / whole)) : 0;
  const full = share > 0 ? Math.max(1, Math.floor(share * cells)) : 0;
  return '█'.repeat(full) + '░'.repeat(cells - full);
}
