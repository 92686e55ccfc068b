// The warnings of an import about names in its file and existing categories.
import type { NewCategory } from '../../../api/types.ts';
import type { InputRow } from '../../../import/row-validator.ts';
import { formatNumber, quoted } from '../../../text/format.ts';

const MOST_NAMED = 3;

/** A warning about rows that repeat the name of an earlier one. */
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
  return `${formatNumber(repeats.length)} ${what} skipped: ${listSome(repeats)}`;
}

/** A warning about names that differ from each other only in case, spaces or Unicode form. */
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
  return `${what}: ${listSome([...pairs])}`;
}

/** A warning about existing categories whose descriptions differ from the file's, since the service cannot update them. */
export function differingDescriptionsWarning(names: readonly string[]): string | undefined {
  if (names.length === 0) return undefined;
  const have = names.length === 1 ? 'existing category has' : 'existing categories have';
  const which = listSome(names.map(quoted));
  return `${formatNumber(names.length)} ${have} a different description and cannot be updated: ${which}`;
}

function listSome(items: readonly string[]): string {
  const more = items.length > MOST_NAMED ? `, and ${formatNumber(items.length - MOST_NAMED)} more` : '';
  return `${items.slice(0, MOST_NAMED).join(', ')}${more}`;
}
