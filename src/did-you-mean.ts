// Suggests the closest known word for a mistyped one.

/** The closest known word, if at most a third of the letters differ. */
export function closestMatch(word: string, known: readonly string[]): string | undefined {
  const ranked = known.map((other) => ({ other, distance: distance(word, other) }));
  ranked.sort((one, two) => one.distance - two.distance);
  const best = ranked[0];
  return best && best.distance <= Math.max(1, Math.floor(word.length / 3)) ? best.other : undefined;
}

// Damerau-Levenshtein distance: insert, delete, replace, or swap two neighbors.
function distance(one: string, two: string): number {
  let before: number[] = [];
  let row = Array.from({ length: two.length + 1 }, (_, at) => at);
  for (let i = 1; i <= one.length; i++) {
    const next = [i];
    for (let j = 1; j <= two.length; j++) {
      const same = one[i - 1] === two[j - 1];
      let cost = Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + (same ? 0 : 1));
      const swapped = i > 1 && j > 1 && one[i - 1] === two[j - 2] && one[i - 2] === two[j - 1];
      if (swapped) cost = Math.min(cost, (before[j - 2] ?? 0) + 1);
      next.push(cost);
    }
    before = row;
    row = next;
  }
  return row[two.length] ?? 0;
}
