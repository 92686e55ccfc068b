// `petstore categories create`: one category, sent once; with --if-missing the one that is there.
import type { Category } from '../../api/types.ts';
import { PetstoreError } from '../../errors.ts';
import { escapeControls } from '../../escape.ts';
import type { View } from '../../output/view.ts';
import type { Session } from '../../session.ts';

/** What the command takes. */
export interface CreateInput {
  readonly name: string;
  readonly description: string | undefined;
  readonly ifMissing: boolean;
}

/** The category, and whether this command made it. */
export interface CreateResult {
  readonly category: Category;
  readonly created: boolean;
}

/**
 * @param session the open session
 * @param input name and description; whether an existing one will do
 * @returns the category
 * @throws PetstoreError `usage` for a blank name, before anything is sent; else as the api does
 */
export async function run(session: Session, input: CreateInput): Promise<CreateResult> {
  // `name` is required by service.md, section 2; a blank one is what an unset shell variable gives.
  if (input.name.trim() === '') {
    throw new PetstoreError('usage', '--name is empty', {
      hint: 'give the category a name: petstore categories create --name dog',
    });
  }
  const api = await session.api();
  if (input.ifMissing) {
    const existing = (await api.categories.list()).find((category) => category.name === input.name);
    if (existing) return { category: existing, created: false };
  }
  const { name, description } = input;
  return {
    category: await api.categories.create(description === undefined ? { name } : { name, description }),
    created: true,
  };
}

/** The category as JSON; for a person one sentence. */
export const view: View<CreateResult> = {
  json: (result) => result.category,
  text: ({ category, created }, { style }) => {
    const what = created ? 'Created category' : 'There is already a category';
    return [`${what} ${style.bold(escapeControls(category.name))} (id ${category.id})\n`];
  },
};
