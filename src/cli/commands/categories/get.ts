// `petstore categories get`: one category from the list, since the service documents no operation for one.
import { getCategory, quotedName } from '../../../api/categories.ts';
import { PetstoreError } from '../../../errors.ts';
import type { Category } from '../../../public-types.ts';
import { invalidValueError } from '../../../settings/check-options.ts';
import { escapeControls } from '../../../text/escape.ts';
import { actionHandler, PetstoreCommand } from '../../command.ts';
import type { View } from '../../output/view.ts';
import { READ_ERRORS } from '../../reference.ts';
import type { Session } from '../../session.ts';

const view: View<Category> = {
  text({ id, name, description }, { style }) {
    const what = `Category ${style.bold(quotedName(name))} (id ${id})`;
    return [description === undefined ? `${what}\n` : `${what}: ${escapeControls(description)}\n`];
  },
};

async function run(session: Session, { id }: { readonly id?: string }, name?: string): Promise<Category> {
  if (id !== undefined && name !== undefined) {
    throw new PetstoreError('usage', 'NAME and --id cannot be combined', { hint: 'use one of them' });
  }
  if (id !== undefined && !/^-?\d{1,19}$/.test(id)) throw invalidValueError(id, '--id', 'use a whole number');
  const wanted = id === undefined ? name : { id: BigInt(id) };
  if (!wanted) {
    const problem = wanted === undefined ? 'NAME is required' : 'NAME is empty';
    throw new PetstoreError('usage', problem, { hint: 'pass a name, or an id with --id' });
  }
  return getCategory(await session.categories(), wanted);
}

export const get = (): PetstoreCommand =>
  new PetstoreCommand('get')
    .description('show one category')
    .argument('[name]', 'exact name of the category (required unless --id is given)')
    .option('--id <id>', 'the id of the category, instead of its name')
    .sections({
      notes: 'This command sends one GET /categories, since the service documents no operation for one category.',
      output: 'one line; with --json the category as the service returned it.',
      exitCodes: READ_ERRORS,
      examples: [
        'petstore categories get dog',
        'petstore categories get "guinea pig" --json | jq .id',
        'petstore categories get --id 7',
      ],
    })
    .action(actionHandler(async () => ({ view, run })));
