// What a list proves: which account it shows, whether it is whole, and the outcome of each uncertain create. Pure.
import { createHash } from 'node:crypto';
import type { Category, NewCategory } from '../api/types.ts';
import type { Labelled } from './journal-record.ts';
import type { Account } from './journal-state.ts';

type Listed = readonly Category[];

/** @returns by what the journal recognizes a category */
export function labelled({ id, name }: Category): Labelled {
  return [String(id), labelOf(name)];
}

// Not the name itself: what a service sends may hold the API key, which is never stored.
function labelOf(name: string): string {
  return createHash('sha256').update(name).digest('base64').slice(0, 12);
}

/**
 * The account whose categories a list shows: ids alone prove little, since another account may use the same.
 * @returns -1 if it shows nothing of any account: it is another one, or the data was reset
 */
export function accountOf(accounts: readonly Account[], listed: Listed): number {
  const names = new Set(listed.map(({ name }) => name));
  const labels = new Map(listed.map((one) => labelled(one)));
  const shown = ({ known, created, doubts }: Account): number =>
    [...known, ...created].filter(([id, { label }]) => labels.get(id) === label).length +
    [...doubts.values()].filter(({ name }) => names.has(name)).length;
  const counts = accounts.map(shown);
  const most = Math.max(...counts);
  return most > 0 ? counts.lastIndexOf(most) : accounts.findIndex(isEmpty);
}

// True for an account without categories: no list can be matched to it.
function isEmpty({ known, created }: Account): boolean {
  return known.size + created.size === 0;
}

/** Evidence that a list is incomplete. */
export interface Gap {
  /** Ids of categories that exist and that it lacks. */
  readonly lacking: readonly string[];
  /** Every category that this program created is listed under a similar name. */
  readonly renamed: boolean;
}

/**
 * @param index the account that the list shows; -1 for none
 * @param rows a category that was listed before matters only if a row has its name
 */
export function gapOf(
  accounts: readonly Account[],
  index: number,
  listed: Listed,
  rows: readonly NewCategory[],
): Gap | undefined {
  const account = accounts[index];
  if (!account) return accounts.some((one) => isRenamed(one, listed)) ? { lacking: [], renamed: true } : undefined;
  const labels = new Set(rows.map(({ name }) => labelOf(name)));
  const seen = [...account.known].filter(([, { label }]) => labels.has(label)).map(([id]) => id);
  const lacking = missingFrom([...account.created.keys(), ...seen], listed);
  return lacking.length > 0 ? { lacking, renamed: false } : undefined;
}

// Ids may coincide in another account, but names similar to those sent are unlikely to.
function isRenamed({ created }: Account, listed: Listed): boolean {
  const there = listed.filter(({ id }) => created.has(String(id)));
  return there.length > 0 && there.every(({ id, name }) => isAlike(created.get(String(id))?.name ?? '', name));
}

/** Whether a service may have made one name of the other: cut it, folded it, or replaced characters. */
export function isAlike(sent: string, name: string): boolean {
  const [one, other] = [fold(sent), fold(name)];
  return one === other || (one !== '' && other !== '' && (one.startsWith(other) || other.startsWith(one)));
}

/** The number of creations that the journal keeps as such. */
const MOST_CREATIONS = 10_000;

/** @returns the oldest creations beyond `keep` that a list shows as they were sent; none while an outcome is unknown */
export function settledCreations({ created, doubts }: Account, listed: Listed, keep = MOST_CREATIONS): string[] {
  if (created.size <= keep || doubts.size > 0) return [];
  const labels = new Map(listed.map((one) => labelled(one)));
  const oldest = [...created].slice(0, created.size - keep);
  return oldest.filter(([id, { name }]) => labels.get(id) === labelOf(name)).map(([id]) => id);
}

/** The service has no delete: a list that lacks what exists is stale or cut off. Returns the ids that it lacks. */
export function missingFrom(ids: Iterable<string>, listed: Listed): string[] {
  const there = new Set(listed.map(({ id }) => String(id)));
  return [...ids].filter((id) => !there.has(id));
}

interface Match {
  /** By attempt; each category is given to one at most. */
  readonly found: ReadonlyMap<string, Category>;
  /** New categories that nothing explains: any of them may be this one, under a name that the service altered. */
  readonly suspects: (attempt: string) => readonly Category[];
}

/** Matches the uncertain creates with the categories that appeared since each was sent. */
export function matchDoubts({ known, created, doubts }: Account, listed: Listed): Match {
  const numberOf = ({ id }: Category): number => known.get(String(id))?.at ?? Number.POSITIVE_INFINITY;
  const oldest = [...doubts.values()].reduce((least, doubt) => Math.min(least, doubt.known), known.size);
  // A response that named an id under another name than the list does may have been another create's.
  const isOwn = ({ id, name }: Category): boolean => {
    const creation = created.get(String(id));
    return creation !== undefined && creation.label === labelOf(name);
  };
  const fresh = new Set(listed.filter((one) => numberOf(one) >= oldest && !isOwn(one)));
  const byName = new Map<string, Category[]>();
  for (const one of fresh) {
    if (!byName.get(one.name)?.push(one)) byName.set(one.name, [one]);
  }
  const found = new Map<string, Category>();
  for (const [attempt, doubt] of doubts) {
    const isFree = (one: Category): boolean => fresh.has(one) && !created.has(String(one.id));
    const category = byName.get(doubt.name)?.find((one) => isFree(one) && numberOf(one) >= doubt.known);
    if (!category) continue;
    fresh.delete(category);
    found.set(attempt, category);
  }
  const suspects = (attempt: string): Category[] =>
    [...fresh].filter((one) => numberOf(one) >= (doubts.get(attempt)?.known ?? 0));
  return { found, suspects };
}

/** What a list says about a row: a category that exists, an uncertain attempt, or undefined if it is missing. */
export type Finding = { readonly category: Category } | { readonly attempt: string } | undefined;

/** Compares the rows with a whole list: of k rows with one name, as many exist as the list has categories of that name. */
export function findRows(rows: readonly NewCategory[], account: Account, listed: Listed): Finding[] {
  const wanted = new Map<string, Finding[]>(rows.map(({ name }) => [name, []]));
  for (const category of listed) {
    wanted.get(category.name)?.push({ category });
    // The service altered the name that was sent; unless the response named another row's category.
    const { name, label } = account.created.get(String(category.id)) ?? category;
    if (name === category.name || (label !== labelOf(category.name) && wanted.has(category.name))) continue;
    wanted.get(name)?.push({ category });
  }
  const { found } = matchDoubts(account, listed);
  for (const [attempt, { name }] of account.doubts) if (!found.has(attempt)) wanted.get(name)?.push({ attempt });
  for (const findings of wanted.values()) findings.reverse();
  return rows.map(({ name }) => wanted.get(name)?.pop());
}

/** @returns the suspect with a name like this one, otherwise any */
export function nearest(name: string, suspects: readonly Category[]): Category | undefined {
  return suspects.find((one) => isAlike(name, one.name)) ?? suspects[0];
}

// Letters and digits, without case, accents and HTML entities.
function fold(name: string): string {
  const text = name
    .slice(0, 2000)
    .replace(/&#?\w+;/g, '')
    .normalize('NFKD')
    .toLowerCase();
  return text.replace(/[^\p{L}\p{N}]/gu, '').slice(0, 200);
}
