// The list of existing categories; an incomplete list is fetched again.
import type { Api, ListFlaw } from '../api/categories.ts';
import type { Category } from '../api/types.ts';
import { PetstoreError } from '../errors.ts';
import { KnownCategories } from './known-categories.ts';
import type { ImportEntry } from './results.ts';

const RETRIES_MS = [2000, 4000];

/** Waits, and shows the reason. */
export type Pause = (ms: number, reason: 'list' | 'requests' | 'lock') => Promise<void>;

export interface FetchListOptions {
  readonly categories: Api['categories'];
  readonly pause: Pause;
}

export interface FetchedList {
  readonly listed: readonly Category[];
  readonly flaw: ListFlaw | undefined;
  /** For each known category that the list lacks, its owner; none if the list has a flaw, since it then proves nothing. */
  readonly missing: readonly (ImportEntry | undefined)[];
  /** Whether the list has no flaw and lacks nothing: a row that it does not show does not exist. */
  readonly isComplete: boolean;
}

/**
 * Fetches the list, and fetches it again after 2 s and 4 s if it is incomplete.
 * @param known gets the categories of each list without a flaw: after a flaw, they may no longer exist
 */
export async function fetchList(
  { categories, pause }: FetchListOptions,
  known: KnownCategories,
  once = false,
): Promise<FetchedList> {
  for (let attempt = 0; ; attempt++) {
    const { listed, flaw } = await categories.listFresh(once);
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
  throw new PetstoreError('service', `cannot tell which rows are missing: ${flaw.reason}`, { hint: flaw.hint });
}
