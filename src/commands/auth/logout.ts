// `petstore auth logout`: removes the key of a profile, or the whole profile.
import type { Action } from '../../command.ts';
import { PetstoreError } from '../../errors.ts';
import type { View } from '../../output/view.ts';
import { keyVariable, namedProfile } from '../../profiles/credentials.ts';
import { SANDBOX, unknownProfile } from '../../profiles/store.ts';
import type { Session } from '../../session.ts';

interface LogoutOptions {
  readonly delete?: true;
}

interface LogoutResult {
  readonly profile: string;
  /** False if there was nothing to remove. */
  readonly removed: boolean;
  readonly deleted: boolean;
}

const view: View<LogoutResult> = {
  text({ profile, removed, deleted }) {
    if (!removed) return [`No API key is saved for profile "${profile}"\n`];
    return [`${deleted ? 'Deleted' : 'Removed the API key of'} profile "${profile}"\n`];
  },
};

export const logoutAction: Action<LogoutOptions, LogoutResult> = { view, run: logOut };

async function logOut(session: Session, options: LogoutOptions): Promise<LogoutResult> {
  const { options: global, context } = session;
  const store = await session.profiles();
  // With --profile, the environment is ignored.
  const variable = global.profile === undefined ? keyVariable(context.env) : undefined;
  if (variable) await session.warn(`${variable} is still set and overrides saved keys`);
  const named = namedProfile({ env: context.env, profile: global.profile });
  const name = named?.name ?? store.active();
  if (name === SANDBOX) {
    throw new PetstoreError('usage', 'profile "sandbox" has a built-in key, which cannot be removed', {
      hint: 'run `petstore auth logout -p PROFILE` to log out of another profile',
    });
  }
  const names = store.names();
  if (!names.includes(name)) {
    throw unknownProfile(name, names, named?.from, 'run `petstore auth status` to list the profiles');
  }
  const deleted = options.delete === true;
  return { profile: name, removed: deleted ? store.remove(name) : store.removeKey(name), deleted };
}
