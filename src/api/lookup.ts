// Operations that look a category up in the list, since the service documents no operation for one category.
import { PetstoreError } from '../errors.ts';
import { closestMatch } from '../text/did-you-mean.ts';
import type { Api } from './categories.ts';
import { changedNameWarning, existenceUnknownError, quotedName } from './categories.ts';
import type { Category, CategoryId, NewCategory } from './types.ts';

/** Beyond these, comparing the names letter by letter would take too long. */
const MOST_COMPARED = 10_000;
const LONGEST_COMPARED = 60;

/**
 * @param wanted the exact name, or the id
 * @throws PetstoreError `rejected` with the code `not_found` or `ambiguous`, `service` if the list does not prove that it is missing
 */
export async function getCategory({ list }: Api['categories'], wanted: string | CategoryId): Promise<Category> {
  const { listed, flaw } = await list();
  const found = listed.filter(({ id, name }) =>
    typeof wanted === 'string' ? name === wanted : BigInt(id) === BigInt(wanted.id),
  );
  const what = typeof wanted === 'string' ? `category ${quotedName(wanted)}` : `category with id ${wanted.id}`;
  if (found[0] && found.length === 1) return found[0];
  if (found.length > 1) {
    const message = `${what} exists more than once (ids ${found.map(({ id }) => id).join(', ')})`;
    const hint = { hint: 'get it by its id', reason: { is: 'ambiguous_name' } } as const;
    throw new PetstoreError('rejected', message, { code: 'ambiguous', ...hint });
  }
  if (flaw) throw existenceUnknownError(what, flaw);
  const names = listed.map(({ name }) => name);
  const near = typeof wanted === 'string' ? nearName(wanted, names) : undefined;
  const hint =
    near === undefined
      ? ({ hint: 'list the categories', reason: { is: 'no_category' } } as const)
      : { hint: `did you mean ${quotedName(near)}?` };
  throw new PetstoreError('rejected', `${what} does not exist`, { code: 'not_found', ...hint });
}

function nearName(wanted: string, names: readonly string[]): string | undefined {
  const lower = wanted.toLowerCase();
  const same = names.find((name) => name.toLowerCase() === lower);
  if (same !== undefined || names.length > MOST_COMPARED || wanted.length > LONGEST_COMPARED) return same;
  return closestMatch(
    wanted,
    names.filter((name) => name.length <= LONGEST_COMPARED),
  );
}

/**
 * Creates a category, with `ifMissing` only if the list does not show one of exactly this name.
 * @param warn called if the existing category has another description, or the service changed the name
 * @throws PetstoreError as `create` does; `service` if the list does not prove that the category is missing
 */
export async function createCategory(
  categories: Api['categories'],
  { name, description }: NewCategory,
  ifMissing: boolean,
  warn: (text: string) => unknown,
): Promise<{ readonly category: Category; readonly created: boolean }> {
  const existing = ifMissing ? await findFresh(categories, name) : undefined;
  if (existing) {
    const { description: current } = existing;
    const has = current === undefined ? 'no description' : `the description "${current}"`;
    if (description !== undefined && description !== current)
      await warn(`existing category "${name}" has ${has}; the given description was ignored`);
    return { category: existing, created: false };
  }
  const category = await categories.create({ name, description });
  const warning = changedNameWarning(name, category);
  if (warning) await warn(warning);
  return { category, created: true };
}

// A list with a flaw may show that a category exists, but not that it is missing.
async function findFresh({ listFresh }: Api['categories'], name: string): Promise<Category | undefined> {
  const { listed, flaw } = await listFresh();
  const found = listed.find((category) => category.name === name);
  if (found || !flaw) return found;
  throw existenceUnknownError(`category ${quotedName(name)}`, flaw);
}
