// How categories are shown in rows: the same columns in a table, in CSV and in TSV.
import type { Category } from '../../api/types.ts';
import type { Column } from '../../output/view.ts';

/** The columns of a list of categories; the description is shortened first. */
export const CATEGORY_COLUMNS: readonly Column<Category>[] = [
  { header: 'id', value: (category) => String(category.id), align: 'right' },
  { header: 'name', value: (category) => category.name, shrink: 2 },
  { header: 'description', value: (category) => category.description, shrink: 1 },
];
