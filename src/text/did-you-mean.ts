// Suggests the known word that was probably meant.

/**
 * The only known word that begins with this one; otherwise the closest, if one letter or at most a third differs, but not
 * every letter. The case of letters is ignored.
 */
export function closestMatch(word: string, known: readonly string[]): string | undefined {
  const lower = word.toLowerCase();
  const longer = known.filter((other) => lower !== '' && other.toLowerCase().startsWith(lower));
  if (longer.length === 1) return longer[0];
  const most = Math.max(1, Math.floor(lower.length / 3));
  const ranked = known
    .filter((other) => Math.abs(other.length - lower.length) <= most)
    .map((other) => ({ other, distance: distance(lower, other.toLowerCase()) }));
  ranked.sort((one, two) => one.distance - two.distance);
  const [best] = ranked;
  return best && best.distance <= most && best.distance < best.other.length ? best.other : undefined;
}

// Restricted Damerau-Levenshtein distance: insert, delete, replace, or swap two neighbors.
function distance(one: string, two: string): number {
  const rows = [Array.from({ length: two.length + 1 }, (_, at) => at)];
  const at = (i: number, j: number): number => rows[i]?.[j] ?? 0;
  for (let i = 1; i <= one.length; i++) {
    const row = [i];
    rows.push(row);
    for (let j = 1; j <= two.length; j++) {
      const same = one[i - 1] === two[j - 1];
      const isSwap = i > 1 && j > 1 && one[i - 1] === two[j - 2] && one[i - 2] === two[j - 1];
      const costs = [at(i - 1, j) + 1, at(i, j - 1) + 1, at(i - 1, j - 1) + (same ? 0 : 1)];
      row.push(Math.min(...costs, isSwap ? at(i - 2, j - 2) + 1 : Number.POSITIVE_INFINITY));
    }
  }
  return at(one.length, two.length);
}
