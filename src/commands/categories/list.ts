// `petstore categories list`: every category, searched and sorted here since the service documents neither.
import type { Category } from '../../api/types.ts';
import type { View } from '../../output/view.ts';
import type { Session } from '../../session.ts';
import { CATEGORY_COLUMNS } from './columns.ts';

/** What the command takes. */
export interface ListInput {
  readonly search: string | undefined;
  readonly sort: 'id' | 'name' | undefined;
}

/**
 * @param session the open session
 * @param input what to look for and how to order
 * @returns the categories
 * @throws PetstoreError as the api does
 */
export async function run(session: Session, input: ListInput): Promise<readonly Category[]> {
  const api = await session.api();
  return filterAndSort(await api.categories.list(), input);
}

/**
 * @param categories as the service lists them
 * @param input text to find in name or description, any case; field to order by
 * @returns a new array, or the same where nothing was asked for
 */
export function filterAndSort(categories: readonly Category[], { search, sort }: ListInput): readonly Category[] {
  const found = search === undefined ? categories : categories.filter((category) => holds(category, fold(search)));
  if (sort === undefined) return found;
  if (sort === 'id') return [...found].sort((a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0));
  const english = new Intl.Collator('en');
  return [...found].sort((a, b) => english.compare(a.name, b.name) || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0));
}

// Both forms of é are one letter to a reader.
function fold(text: string): string {
  return text.normalize('NFC').toLowerCase();
}

function holds(category: Category, text: string): boolean {
  return fold(category.name).includes(text) || fold(category.description ?? '').includes(text);
}

/** The list as a table; where there is nothing, what to do about it. */
export const view: View<readonly Category[]> = {
  text: (categories, look) =>
    categories.length === 0 ? ['No categories.\n'] : look.table(CATEGORY_COLUMNS, categories),
  records: { columns: CATEGORY_COLUMNS, rows: (categories) => categories },
};
