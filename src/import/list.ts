// The list of existing categories; an incomplete list is fetched again.
import type { Api, ListFlaw } from '../api/categories.ts';
import type { Category } from '../api/types.ts';
import { PetstoreError } from '../errors.ts';
import type { Match } from './results.ts';

type Listed = readonly Category[];

const RETRIES_MS = [2000, 4000];

/** Waits, and shows the reason. */
export type Pause = (ms: number, reason: 'list' | 'requests' | 'lock') => Promise<void>;

export interface FetchListOptions {
  readonly categories: Api['categories'];
  readonly pause: Pause;
}

export interface FetchedList {
  readonly listed: Listed;
  readonly flaw: ListFlaw | undefined;
  /** The keys of all categories seen so far, except in lists with a flaw: those categories may no longer exist. */
  readonly seenKeys: Set<string>;
  /** The keys that the list lacks; none if it has a flaw, since it then proves nothing. */
  readonly missingKeys: readonly string[];
  /** Whether the list has no flaw and lacks nothing: a row that it does not show does not exist. */
  readonly isComplete: boolean;
}

/** The id of a category as the key of a map. */
export function categoryKey({ id }: Category): string {
  return String(id);
}

/**
 * Fetches the list, and fetches it again after 2 s and 4 s if it is incomplete.
 * @param seen the keys of all categories that a list or a response has shown
 */
export async function fetchList(
  { categories, pause }: FetchListOptions,
  seen: ReadonlySet<string>,
  once = false,
): Promise<FetchedList> {
  const seenKeys = new Set(seen);
  for (let attempt = 0; ; attempt++) {
    const { listed, flaw } = await categories.listFresh(once);
    const shown = new Set(listed.map(categoryKey));
    const missingKeys = flaw ? [] : [...seenKeys].filter((key) => !shown.has(key));
    const isComplete = !flaw && missingKeys.length === 0;
    if (!flaw) for (const key of shown) seenKeys.add(key);
    const retryMs = RETRIES_MS[attempt];
    if (isComplete || retryMs === undefined) return { listed, flaw, seenKeys, missingKeys, isComplete };
    await pause(retryMs, 'list');
  }
}

/** @throws PetstoreError `service` if the first list is incomplete */
export async function fetchFirstList(options: FetchListOptions): Promise<FetchedList> {
  const fetched = await fetchList(options, new Set());
  const { flaw } = fetched;
  if (!flaw) return fetched;
  throw new PetstoreError('service', `cannot tell which rows are missing: ${flaw.reason}`, { hint: flaw.hint });
}

/**
 * Folds the names once, since thousands of rows may be unknown.
 * @returns a function that finds a category whose name may be the given one, truncated or folded by the service; otherwise the
 *   first category
 */
export function possibleMatchFinder(categories: Listed): (name: string) => Match | undefined {
  const candidates = categories.map(({ id, name }) => ({ id, name, folded: fold(name) }));
  return (name) => {
    const sent = fold(name);
    const isAlike = ({ folded }: { folded: string }): boolean =>
      folded !== '' && (sent.startsWith(folded) || folded.startsWith(sent));
    const one = (sent === '' ? undefined : candidates.find(isAlike)) ?? candidates[0];
    return one && { id: one.id, name: one.name };
  };
}

// Keeps only letters and digits, without case and accents, and removes HTML entities.
function fold(name: string): string {
  const text = name.slice(0, 200).replace(/&#?\w+;/g, '');
  return text
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]/gu, '');
}
