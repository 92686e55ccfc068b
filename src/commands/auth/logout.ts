// `petstore auth logout`: forgets a key, or with --all every profile, also where files are damaged.

import { PetstoreError } from '../../errors.ts';
import type { View } from '../../output/view.ts';
import { namedProfile, storedProfile } from '../../profiles/credentials.ts';
import { SANDBOX } from '../../profiles/store.ts';
import type { Session } from '../../session.ts';

/** What the command takes. */
export interface LogoutInput {
  readonly all: boolean;
}

/** What was forgotten. */
export interface LogoutResult {
  /** The profiles whose key was forgotten, with --all also those whose file could not be read; empty where there was none. */
  readonly forgotten: readonly string[];
}

/**
 * @param session the open session
 * @param input whether every profile is meant
 * @returns what was forgotten; that there was nothing is no failure
 * @throws PetstoreError `usage` for an unknown profile, `storage` where a file cannot be changed
 */
export async function run(session: Session, input: LogoutInput): Promise<LogoutResult> {
  const store = await session.profiles();
  const forgotten = input.all ? store.removeAll() : await forgetOne(session);
  if (session.context.env['PETSTORE_API_KEY'] !== undefined) {
    await session.warn('PETSTORE_API_KEY is still set: commands go on using that key');
  }
  return { forgotten };
}

export const view: View<LogoutResult> = {
  *text({ forgotten }) {
    yield forgotten.length > 0 ? `forgot the key of ${forgotten.join(', ')}\n` : 'there was no key to forget\n';
  },
};

async function forgetOne(session: Session): Promise<readonly string[]> {
  const store = await session.profiles();
  const named = namedProfile({ env: session.context.env, profile: session.options.profile });
  const name = named?.name ?? store.active();
  if (name === SANDBOX) {
    throw new PetstoreError('usage', 'the profile sandbox has no key to forget', {
      hint: 'name another one: petstore auth logout -p PROFILE, or --all',
    });
  }
  storedProfile(store, name, named?.from);
  return store.removeKey(name) ? [name] : [];
}
