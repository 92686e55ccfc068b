// The categories that a run knows to exist.
import type { Category } from '../api/types.ts';
import type { ImportEntry } from './results.ts';

interface Known {
  /** The name of the file that is this category. */
  owner: ImportEntry | undefined;
  /** Whether the first list lacked it: this run or another client created it meanwhile. */
  readonly isNew: boolean;
}

/**
 * Every category that a list or a 201 has shown to this run, by id. Invariants:
 * - The service has no delete, so a category stays known: a later list without it is incomplete.
 * - A category is old, from the first list, or new; this never changes.
 * - It has at most one owner, and a name of the file owns at most one category. The owner never changes.
 * - A new category without an owner is unexplained: it may be any uncertain name, which the service changed.
 */
export class KnownCategories {
  readonly #known = new Map<string, Known>();

  /** Adds a category unless it is known. */
  add(category: Category, isNew = true): void {
    const key = keyOf(category);
    if (!this.#known.has(key)) this.#known.set(key, { owner: undefined, isNew });
  }

  has(category: Category): boolean {
    return this.#known.has(keyOf(category));
  }

  own(category: Category, owner: ImportEntry): void {
    this.add(category);
    const known = this.#known.get(keyOf(category));
    if (known) known.owner = owner;
  }

  ownerOf(category: Category): ImportEntry | undefined {
    return this.#known.get(keyOf(category))?.owner;
  }

  isUnexplained(category: Category): boolean {
    const { owner, isNew } = this.#known.get(keyOf(category)) ?? { isNew: true };
    return isNew && !owner;
  }

  /** The owners of the known categories that a list lacks; undefined for a category without one. */
  missingFrom(listed: readonly Category[]): (ImportEntry | undefined)[] {
    const shown = new Set(listed.map(keyOf));
    return [...this.#known].flatMap(([key, { owner }]) => (shown.has(key) ? [] : [owner]));
  }
}

// As text, since an id is a number or a bigint.
function keyOf({ id }: Category): string {
  return String(id);
}
