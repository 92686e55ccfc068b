// Rows whose answer was lost against what the service lists: found, not there, or not to be decided. Pure.
import type { Category, NewCategory } from '../api/types.ts';

/** A row by its number from 0. */
export interface NumberedRow extends NewCategory {
  readonly row: number;
}

/** What the journal knows of the service's categories; ids in digits. */
export interface Known {
  /** What was there before the import began. */
  readonly baseline: ReadonlySet<string> | undefined;
  /** @returns whether a category belongs to a row already, of this import or another */
  readonly owned: (id: string) => boolean;
}

/** What a list says about lost rows. */
export interface Findings {
  /** Row to category; every category is given to one row at most. */
  readonly found: ReadonlyMap<number, Category>;
  /** Nothing like these rows has appeared. */
  readonly absent: readonly number[];
  /** Something has appeared that may be this row, or not: another description, or a name the service has tidied up. */
  readonly doubtful: readonly number[];
}

/**
 * Matches lost rows with what appeared since the import began and belongs to no row yet (contract, section 7: same name
 * and description; the service has no better evidence to give).
 * @param lost rows whose answer was lost; two equal rows need two categories
 * @param listed every category the service lists now
 * @param known what the journal knows
 * @returns which rows exist, which do not, and which cannot be decided
 */
export function matchLost(lost: readonly NumberedRow[], listed: readonly Category[], known: Known): Findings {
  const fresh = appearedUnowned(listed, known);
  const byText = new Map<string, Category[]>();
  if (known.baseline) for (const category of fresh) pile(byText, textOf(category), category);
  const found = new Map<number, Category>();
  for (const row of lost) {
    const category = byText.get(textOf(row))?.shift();
    if (category) found.set(row.row, category);
  }
  const taken = new Set(found.values());
  const likeNames = new Set(fresh.filter((category) => !taken.has(category)).map(({ name }) => loosely(name)));
  const left = lost.filter(({ row }) => !found.has(row));
  return {
    found,
    absent: left.filter(({ name }) => !likeNames.has(loosely(name))).map(({ row }) => row),
    doubtful: left.filter(({ name }) => likeNames.has(loosely(name))).map(({ row }) => row),
  };
}

/**
 * Finds categories that nobody accounts for and that equal a row which was sent more than once: its first request may
 * have arrived after the lookup.
 * @param resent rows that were sent again after a lookup had not found them
 * @param listed every category the service lists now
 * @param known what the journal knows
 * @returns the surplus categories
 */
export function findDuplicates(resent: readonly NewCategory[], listed: readonly Category[], known: Known): Category[] {
  const texts = new Set(resent.map(textOf));
  return appearedUnowned(listed, known).filter((category) => texts.has(textOf(category)));
}

function appearedUnowned(listed: readonly Category[], known: Known): Category[] {
  const fresh = new Map<string, Category>();
  for (const category of listed) {
    const id = String(category.id);
    if (!known.baseline?.has(id) && !known.owned(id)) fresh.set(id, category);
  }
  return [...fresh.values()];
}

function pile(piles: Map<string, Category[]>, key: string, category: Category): void {
  const there = piles.get(key);
  if (there) there.push(category);
  else piles.set(key, [category]);
}

function textOf(row: NewCategory): string {
  return JSON.stringify([row.name, row.description]);
}

function loosely(name: string): string {
  return name.normalize('NFKC').toLowerCase().replace(/\s+/g, ' ').trim();
}
