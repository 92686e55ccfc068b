// Derives the account of a list, its gaps, and the outcomes of uncertain attempts. Pure.
import { createHash } from 'node:crypto';
import type { Category, NewCategory } from '../api/types.ts';
import type { Labeled } from './journal-record.ts';
import type { Account } from './journal-state.ts';

type Listed = readonly Category[];

/** Returns the id and label by which the journal recognizes a category. */
export function labeled({ id, name }: Category): Labeled {
  return [String(id), labelOf(name)];
}

// A hash instead of the name, because a response may contain the API key, which is never saved.
function labelOf(name: string): string {
  return createHash('sha256').update(name).digest('base64').slice(0, 12);
}

/**
 * Finds the account whose categories a list shows. Ids alone prove little, since another account may use the same ones.
 * @returns its index; otherwise that of an account without categories, or -1
 */
export function accountOf(accounts: readonly Account[], listed: Listed): number {
  const names = new Set(listed.map(({ name }) => name));
  const labels = new Map(listed.map((one) => labeled(one)));
  const shown = ({ known, created, uncertain }: Account): number =>
    [...known, ...created].filter(([id, { label }]) => labels.get(id) === label).length +
    [...uncertain.values()].filter(({ name }) => names.has(name)).length;
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
  /** The ids of existing categories that the list lacks. */
  readonly lacking: readonly string[];
  /** True if the list shows the created ids under similar names. */
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

/** Whether a service may have altered one name into the other: truncated it, folded it, or replaced characters. */
export function isAlike(sent: string, name: string): boolean {
  const [one, other] = [fold(sent), fold(name)];
  return one === other || (one !== '' && other !== '' && (one.startsWith(other) || other.startsWith(one)));
}

/** The journal keeps at most this many creations; older ones become known categories. */
const MOST_CREATIONS = 10_000;

/** @returns the oldest creations beyond `keep` that a list shows as they were sent; none while an outcome is unknown */
export function settledCreations({ created, uncertain }: Account, listed: Listed, keep = MOST_CREATIONS): string[] {
  if (created.size <= keep || uncertain.size > 0) return [];
  const labels = new Map(listed.map((one) => labeled(one)));
  const oldest = [...created].slice(0, created.size - keep);
  return oldest.filter(([id, { name }]) => labels.get(id) === labelOf(name)).map(([id]) => id);
}

/** Returns the ids that a list lacks. The service has no delete, so such a list is stale or truncated. */
export function missingFrom(ids: Iterable<string>, listed: Listed): string[] {
  const there = new Set(listed.map(({ id }) => String(id)));
  return [...ids].filter((id) => !there.has(id));
}

interface Match {
  /** The category found for each attempt; no category is assigned twice. */
  readonly found: ReadonlyMap<string, Category>;
  /** New categories that nothing explains: each may be the attempt's, under a name that the service altered. */
  readonly suspects: (attempt: string) => readonly Category[];
}

/** Matches each uncertain attempt with the categories that appeared after it. */
export function matchUncertain({ known, created, uncertain }: Account, listed: Listed): Match {
  const numberOf = ({ id }: Category): number => known.get(String(id))?.at ?? Number.POSITIVE_INFINITY;
  const oldest = [...uncertain.values()].reduce((least, attempt) => Math.min(least, attempt.known), known.size);
  // If a response gave the id another name than the list does, it may have been the response to another create.
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
  // Of two attempts with one name, the slow one stays uncertain: the service may still process it.
  const slowLast = [...uncertain].sort(([, a], [, b]) => Number(a.slow ?? false) - Number(b.slow ?? false));
  for (const [attempt, { name, known: before }] of slowLast) {
    const isFree = (one: Category): boolean => fresh.has(one) && !created.has(String(one.id));
    const category = byName.get(name)?.find((one) => isFree(one) && numberOf(one) >= before);
    if (!category) continue;
    fresh.delete(category);
    found.set(attempt, category);
  }
  const suspects = (attempt: string): Category[] =>
    [...fresh].filter((one) => numberOf(one) >= (uncertain.get(attempt)?.known ?? 0));
  return { found, suspects };
}

/** What a list says about a row: a category that exists, an uncertain attempt, or undefined if it is missing. */
export type Finding = { readonly category: Category } | { readonly attempt: string } | undefined;

/** Compares the rows with a complete list: of k rows with one name, as many exist as the list has categories of that name. */
export function findRows(rows: readonly NewCategory[], account: Account, listed: Listed): Finding[] {
  const wanted = new Map<string, Finding[]>(rows.map(({ name }) => [name, []]));
  for (const category of listed) {
    wanted.get(category.name)?.push({ category });
    // A created category counts for the name that was sent, unless its response named another row's category.
    const { name, label } = account.created.get(String(category.id)) ?? category;
    if (name === category.name || (label !== labelOf(category.name) && wanted.has(category.name))) continue;
    wanted.get(name)?.push({ category });
  }
  const { found } = matchUncertain(account, listed);
  for (const [attempt, { name }] of account.uncertain) if (!found.has(attempt)) wanted.get(name)?.push({ attempt });
  for (const findings of wanted.values()) findings.reverse();
  return rows.map(({ name }) => wanted.get(name)?.pop());
}

/** @returns a suspect with a similar name, otherwise the first */
export function nearest(name: string, suspects: readonly Category[]): Category | undefined {
  return suspects.find((one) => isAlike(name, one.name)) ?? suspects[0];
}

// Keeps letters and digits, without case, accents and HTML entities.
function fold(name: string): string {
  const text = name
    .slice(0, 2000)
    .replace(/&#?\w+;/g, '')
    .normalize('NFKD')
    .toLowerCase();
  return text.replace(/[^\p{L}\p{N}]/gu, '').slice(0, 200);
}
