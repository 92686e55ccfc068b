// `petstore categories list`: searches and sorts locally, since the service documents neither a search nor a sort.
import { Option } from 'commander';
import { incompleteListWarning } from '../../../api/categories.ts';
import { PetstoreError } from '../../../errors.ts';
import type { Category } from '../../../public-types.ts';
import { invalidValueError } from '../../../settings/check-options.ts';
import { escapeControls } from '../../../text/escape.ts';
import { formatChoices } from '../../../text/format.ts';
import { stringifyJson } from '../../../text/json.ts';
import { actionHandler, PetstoreCommand } from '../../command.ts';
import { formatOption, withChoices } from '../../global-options.ts';
import type { Column, View } from '../../output/view.ts';
import { READ_ERRORS } from '../../reference.ts';
import type { Session } from '../../session.ts';

interface ListOptions {
  readonly search?: string;
  readonly sort?: 'id' | 'name';
  readonly columns?: string;
}

interface Listing {
  readonly categories: readonly Category[];
  readonly columns: readonly Column<Category>[];
}

export const COLUMNS: readonly Column<Category>[] = [
  { header: 'id', value: (category) => String(category.id), align: 'right' },
  { header: 'name', value: (category) => category.name },
  { header: 'description', value: (category) => category.description },
];

export const listView: View<Listing> = {
  json: ({ categories }) => categories,
  text: ({ categories, columns }, { table }) => (categories.length === 0 ? [] : table(columns, categories)),
  tables: true,
  records: { columns: ({ columns }) => columns, rows: ({ categories }) => categories },
};

export const list = (): PetstoreCommand =>
  new PetstoreCommand('list')
    .alias('ls')
    .description('list all categories')
    .addOption(formatOption().default(undefined, 'table'))
    .option('--columns <names>', 'columns of the table, csv and tsv, for example id,name')
    .option('--search <text>', 'show only categories whose name or description contains this text (case-insensitive)')
    .addOption(
      withChoices(new Option('--sort <field>', 'sort by a field'), ['id', 'name']).default(
        undefined,
        "the service's order",
      ),
    )
    .sections({
      notes: `\`petstore categories import\` reads the csv, tsv, json and ndjson formats. --columns accepts id, name,
description and any other field that the service returns.`,
      output: `a table, shortened only to fit a terminal; with --json an array of {"id", "name", "description"} and any
other fields that the service returns.`,
      exitCodes: READ_ERRORS,
      examples: [
        'petstore categories list',
        'petstore categories list --search cat --sort name',
        'petstore categories list --columns id,name',
        "petstore categories list --json | jq -r '.[].name'",
        'petstore categories list --format csv > categories.csv',
      ],
    })
    .action(actionHandler(async () => ({ view: listView, run: listCategories })));

async function listCategories(session: Session, options: ListOptions): Promise<Listing> {
  const { format } = session.options;
  if (options.columns !== undefined && /json$/.test(format)) {
    const message = `--columns and --format ${format} cannot be combined`;
    throw new PetstoreError('usage', message, { hint: 'use --format csv instead of JSON' });
  }
  const { listed, flaw } = await (await session.categories()).list();
  if (flaw) await session.warn(incompleteListWarning(flaw));
  const columns = selectColumns(listed, options.columns);
  const categories = filterAndSort(listed, options);
  if (categories.length === 0) await session.notice('No categories found');
  return { categories, columns };
}

/** @throws PetstoreError `usage` for a column that neither petstore nor a category has */
function selectColumns(categories: readonly Category[], names: string | undefined) {
  if (names === undefined) return COLUMNS;
  const extra = new Set(categories.flatMap((category) => Object.keys(category)));
  for (const { header } of COLUMNS) extra.delete(header);
  const known = [...COLUMNS, ...[...extra].map(extraColumn)];
  return names.split(',').map((text) => {
    const name = text.trim();
    const column = known.find(({ header }) => header === name);
    if (column) return column;
    const choices = formatChoices(known.map(({ header }) => escapeControls(header)));
    throw invalidValueError(name, '--columns', `use ${choices}`, 'column');
  });
}

// The column of a field that the service may add later.
function extraColumn(name: string): Column<Category> {
  const text = (value: unknown): string => (typeof value === 'string' ? value : stringifyJson(value));
  return { header: name, value: (category) => (category[name] == null ? undefined : text(category[name])) };
}

/** Returns a new array, or the given one if the options change nothing. */
export function filterAndSort(categories: readonly Category[], { search, sort }: ListOptions): readonly Category[] {
  const text = search === undefined ? '' : normalize(search);
  const contains = (value = ''): boolean => normalize(value).includes(text);
  const found = text === '' ? categories : categories.filter((one) => contains(one.name) || contains(one.description));
  if (sort === undefined) return found;
  const byId = (a: Category, b: Category): number => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);
  if (sort === 'id') return [...found].sort(byId);
  const english = new Intl.Collator('en');
  return [...found].sort((a, b) => english.compare(a.name, b.name) || byId(a, b));
}

// Composed and decomposed letters are the same to a reader.
function normalize(text: string): string {
  return text.normalize('NFC').toLowerCase();
}
