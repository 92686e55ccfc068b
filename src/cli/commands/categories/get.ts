// `petstore categories get`: one category from the list, since the service documents no operation for one.
import { existenceUnknownError, quotedName } from '../../../api/categories.ts';
import type { Category } from '../../../api/types.ts';
import { PetstoreError } from '../../../errors.ts';
import { invalidValueError } from '../../../settings/check-options.ts';
import { escapeControls } from '../../../text/escape.ts';
import { actionHandler, PetstoreCommand } from '../../command.ts';
import type { View } from '../../output/view.ts';
import { READ_ERRORS } from '../../reference.ts';
import type { Session } from '../../session.ts';
import { formatCommand } from '../../shell-quote.ts';

interface GetOptions {
  readonly id?: string;
}

const view: View<Category> = {
  text({ id, name, description }, { style }) {
    const what = `Category ${style.bold(quotedName(name))} (id ${id})`;
    return [description === undefined ? `${what}\n` : `${what}: ${escapeControls(description)}\n`];
  },
};

async function getCategory(session: Session, { id }: GetOptions, name?: string): Promise<Category> {
  if (id !== undefined && name !== undefined) {
    throw new PetstoreError('usage', 'NAME and --id cannot be combined', { hint: 'use one of them' });
  }
  if (id === undefined && name === undefined) {
    throw new PetstoreError('usage', 'NAME is required', { hint: 'pass a name, or an id with --id' });
  }
  if (id !== undefined && !/^-?\d{1,19}$/.test(id)) throw invalidValueError(id, '--id', 'use a whole number');
  const { listed, flaw } = await (await session.api()).categories.list();
  const found = listed.filter((one) => (id === undefined ? one.name === name : BigInt(one.id) === BigInt(id)));
  const what = id === undefined ? `category ${quotedName(name ?? '')}` : `the category with id ${id}`;
  if (found.length === 0 && flaw) throw existenceUnknownError(what, flaw);
  if (found[0] && found.length === 1) return found[0];
  const list = formatCommand(['categories', 'list'], session.options.profile, session.context);
  const ids = found.map((one) => one.id).join(', ');
  throw found.length === 0
    ? notFoundError(`${what} does not exist`, `run ${list} to list the categories`)
    : notFoundError(`${what} exists more than once (ids ${ids})`, 'use --id instead of the name');
}

function notFoundError(message: string, hint: string): PetstoreError {
  return new PetstoreError('rejected', message, { code: 'not_found', hint });
}

export const get = (): PetstoreCommand =>
  new PetstoreCommand('get')
    .description('show one category')
    .argument('[name]', 'exact name of the category')
    .option('--id <id>', 'the id of the category, instead of its name')
    .sections({
      notes: 'Sends one GET /categories, since the service has no operation for one category.',
      output: 'one line; with --json the category as the service returned it.',
      exitCodes: READ_ERRORS,
      examples: [
        'petstore categories get dog',
        'petstore categories get "guinea pig" --json | jq .id',
        'petstore categories get --id 7',
      ],
    })
    .action(actionHandler(async () => ({ view, run: getCategory })));
