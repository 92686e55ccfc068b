// `petstore categories create`: creates one category, or with --if-missing returns the existing one.
import { createCategory, quotedName } from '../../../api/categories.ts';
import { PetstoreError } from '../../../errors.ts';
import type { NewCategory } from '../../../public-types.ts';
import type { Action } from '../../command.ts';
import { actionHandler, PetstoreCommand } from '../../command.ts';
import { CHANGE_ERRORS } from '../../reference.ts';

type Result = Awaited<ReturnType<typeof createCategory>>;

const createAction: Action<NewCategory & { readonly ifMissing?: true }, Result> = {
  async run(session, { name, description, ifMissing }) {
    // An unset shell variable is a common cause of an empty name.
    if (name.trim() === '') {
      throw new PetstoreError('usage', '--name is empty', { hint: 'pass a name, for example --name dog' });
    }
    const categories = await session.categories();
    return createCategory(categories, { name, description }, ifMissing === true, session.warn);
  },
  view: {
    json: ({ category }) => category,
    text: ({ category, created }, { style }) => {
      const shown = style.bold(quotedName(category.name));
      return [`${created ? `Created category ${shown}` : `Category ${shown} already exists`} (id ${category.id})\n`];
    },
    change: ({ category, created }) =>
      created ? `category ${quotedName(category.name)} was created (id ${category.id})` : undefined,
  },
};

export const create = (): PetstoreCommand =>
  new PetstoreCommand('create')
    .description('create a category')
    .requiredOption('--name <name>', 'name of the category, for example a species (required)')
    .option('--description <text>', 'short description')
    .option('--if-missing', 'return the category with this exact name if it exists; otherwise create it')
    .sections({
      notes: `A create that may have succeeded is never resent. Exit code 8 means that the category may exist: check the
list before you retry.`,
      output: 'one line; with --json the category as the service returned it.',
      exitCodes: CHANGE_ERRORS,
      examples: [
        'petstore categories create --name dog',
        'petstore categories create --name cat --description "Felis catus" --json',
        'petstore categories create --name rabbit --if-missing',
      ],
    })
    .action(actionHandler(async () => createAction));
