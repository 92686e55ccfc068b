// `petstore auth logout`: removes the key of a profile, or the whole profile.
import type { Action } from '../../command.ts';
import { PetstoreError } from '../../errors.ts';
import type { View } from '../../output/view.ts';
import { checkExists, namedProfile } from '../../profiles/credentials.ts';
import { SANDBOX } from '../../profiles/store.ts';
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
  const { env } = session.context;
  const store = await session.profiles();
  if (env['PETSTORE_API_KEY'] !== undefined) {
    await session.warn('PETSTORE_API_KEY is still set; commands keep using that key');
  }
  const named = namedProfile({ env, profile: session.options.profile });
  const name = named?.name ?? store.active();
  if (name === SANDBOX) {
    throw new PetstoreError('usage', 'profile "sandbox" has no API key', {
      hint: 'to log out of another profile, run `petstore auth logout -p PROFILE`',
    });
  }
  checkExists(store, name, named?.from);
  const deleted = options.delete === true;
  return { profile: name, removed: deleted ? store.remove(name) : store.removeKey(name), deleted };
}
