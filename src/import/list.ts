// The list of existing categories, which is fetched again if it is incomplete, and the categories that a run knows.
import type { Categories, ListFlaw } from '../api/categories.ts';
import { PetstoreError } from '../errors.ts';
import type { Category } from '../public-types.ts';
import type { ImportEntry } from './results.ts';

const RETRIES_MS = [2000, 4000];

/** Waits, and reports the reason. */
export type Pause = (ms: number, reason: 'list' | 'requests' | 'lock') => Promise<void>;

export interface FetchListOptions {
  readonly categories: Categories;
  readonly pause: Pause;
}

export interface FetchedList {
  readonly listed: readonly Category[];
  readonly flaw: ListFlaw | undefined;
  /** The owner of each known category that the list lacks; empty if the list has a flaw, since it then proves nothing. */
  readonly missing: readonly (ImportEntry | undefined)[];
  /** Whether the list has no flaw and lacks no known category: it then shows every category. */
  readonly isComplete: boolean;
}

/**
 * Fetches the list, and fetches it again after 2 s and 4 s if it is incomplete.
 * @param known receives the categories of each list without a flaw
 * @param once whether the first request neither waits for the rate limit nor is retried
 */
export async function fetchList(
  { categories, pause }: FetchListOptions,
  known: KnownCategories,
  once = false,
): Promise<FetchedList> {
  for (let attempt = 0; ; attempt++) {
    const { listed, flaw } = await categories.listFresh(once && attempt === 0);
    const missing = flaw ? [] : known.missingFrom(listed);
    const isComplete = !flaw && missing.length === 0;
    if (!flaw) for (const category of listed) known.add(category);
    const retryMs = RETRIES_MS[attempt];
    if (isComplete || retryMs === undefined) return { listed, flaw, missing, isComplete };
    await pause(retryMs, 'list');
  }
}

/** @throws PetstoreError `service` if the first list is incomplete */
export async function fetchFirstList(options: FetchListOptions): Promise<readonly Category[]> {
  const { listed, flaw } = await fetchList(options, new KnownCategories());
  if (!flaw) return listed;
  throw new PetstoreError('service', `cannot determine which categories exist: ${flaw.reason}`, { hint: flaw.hint });
}

interface Known {
  /** The name in the file that owns this category. */
  owner: ImportEntry | undefined;
  /** Whether the first list lacked it: this run or another client created it meanwhile. */
  readonly isNew: boolean;
}

/**
 * Every category that a list or a 201 has shown to this run, by id. Invariants:
 * - The service has no delete, so a category stays known: a later list without it is incomplete.
 * - A category is old, from the first list, or new; this never changes.
 * - It has at most one owner, and a name in the file owns at most one category. The owner never changes.
 * - A new category without an owner is unexplained: it may belong to any uncertain name, if the service changed that name.
 */
export class KnownCategories {
  readonly #known = new Map<string, Known>();

  /** Adds a category unless it is known. */
  add(category: Category, isNew = true): Known {
    const known = this.#known.get(keyOf(category)) ?? { owner: undefined, isNew };
    this.#known.set(keyOf(category), known);
    return known;
  }

  has(category: Category): boolean {
    return this.#known.has(keyOf(category));
  }

  setOwner(category: Category, owner: ImportEntry): void {
    this.add(category).owner = owner;
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
