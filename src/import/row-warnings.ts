// Warnings about the rows of an import.
import type { ImportDocument, NewCategory } from '../public-types.ts';
import { formatNumber, formatSome, quoted } from '../text/format.ts';
import type { InputRow } from './row-validator.ts';

const MAX_NAMED = 3;

/** The warnings before anything is sent. */
export function rowWarnings(rows: readonly InputRow[]): string[] {
  return [repeatedNamesWarning(rows), lookAlikesWarning(rows)].filter((warning) => warning !== undefined);
}

export function repeatedNamesWarning(rows: readonly InputRow[]): string | undefined {
  const seen = new Set<string>();
  const repeats: string[] = [];
  for (const [at, { name, line }] of rows.entries()) {
    const place = line === undefined ? `row ${at + 1}` : `line ${line}`;
    if (seen.has(name)) repeats.push(`${place} ${quoted(name)}`);
    seen.add(name);
  }
  if (repeats.length === 0) return undefined;
  const what = repeats.length === 1 ? 'row repeats a name and is' : 'rows repeat a name and are';
  return `${formatNumber(repeats.length)} ${what} skipped: ${formatSome(repeats, MAX_NAMED)}`;
}

export function lookAlikesWarning(rows: readonly NewCategory[]): string | undefined {
  const firsts = new Map<string, string>();
  const pairs = new Set<string>();
  for (const { name } of rows) {
    const key = name.normalize('NFKC').replace(/\s+/g, ' ').trim().toLowerCase();
    const first = firsts.get(key) ?? name;
    firsts.set(key, first);
    if (first !== name) pairs.add(`${quoted(first)} and ${quoted(name)}`);
  }
  if (pairs.size === 0) return undefined;
  const what = 'names that differ only in case, spaces or Unicode form become separate categories';
  return `${what}: ${formatSome([...pairs], MAX_NAMED)}`;
}

export function differingDescriptionsWarning({ skipped }: ImportDocument): string | undefined {
  const names = skipped.filter(({ differs }) => differs).map(({ name }) => name);
  if (names.length === 0) return undefined;
  const have = names.length === 1 ? 'existing category has' : 'existing categories have';
  const which = formatSome(names.map(quoted), MAX_NAMED);
  return `${formatNumber(names.length)} ${have} a different description and cannot be updated: ${which}`;
}
