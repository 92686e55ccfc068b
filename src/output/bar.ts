// A bar beside a number, for terminals: how much of a whole is done, or left.

/**
 * @param cells how wide it is
 * @returns for example `████████░░░░`; full only if nothing is missing, empty only if there is nothing
 */
export function bar(part: number, whole: number, cells: number): string {
  const share = whole > 0 ? Math.min(1, Math.max(0, part / whole)) : 0;
  const full = share > 0 ? Math.max(1, Math.floor(share * cells)) : 0;
  return '█'.repeat(full) + '░'.repeat(cells - full);
}
