// `petstore auth logout`: removes a profile's key, or whole profiles.

import type { Command } from 'commander';
import { action, PetstoreCommand } from '../../command.ts';
import { PetstoreError } from '../../errors.ts';
import type { View } from '../../output/view.ts';
import { checkExists, namedProfile } from '../../profiles/credentials.ts';
import { SANDBOX } from '../../profiles/store.ts';
import type { Session } from '../../session.ts';

interface LogoutOptions {
  readonly all?: true;
  readonly delete?: true;
}

interface LogoutResult {
  /** The profiles that were changed. */
  readonly removed: readonly string[];
  readonly deleted: boolean;
  /** Absent with --all. */
  readonly profile?: string;
}

const view: View<LogoutResult> = {
  text({ removed, deleted, profile }) {
    const names = removed.map((name) => `"${name}"`).join(', ');
    const none = profile ? `No API key is saved for profile "${profile}"` : 'No profiles to delete';
    if (removed.length === 0) return [`${none}\n`];
    return [`${deleted ? 'Deleted' : 'Removed the API key of'} profile${removed.length > 1 ? 's' : ''} ${names}\n`];
  },
};

export const logout = (): Command =>
  new PetstoreCommand('logout')
    .description("remove a profile's API key and keep its base URL")
    .option('--delete', 'delete the whole profile')
    .option('--all', 'delete all profiles, including unreadable ones')
    .sections({
      output: 'one line; with --json {"removed", "deleted"}: the profiles that were changed.',
      examples: ['petstore auth logout', 'petstore auth logout -p staging --delete', 'petstore auth logout --all'],
    })
    .action(action(view, logOut));

async function logOut(session: Session, options: LogoutOptions): Promise<LogoutResult> {
  const { env } = session.context;
  const store = await session.profiles();
  if (env['PETSTORE_API_KEY'] !== undefined) {
    await session.warn('PETSTORE_API_KEY is still set; commands keep using that key');
  }
  if (options.all) return { removed: store.removeAll(), deleted: true };
  const named = namedProfile({ env, profile: session.options.profile });
  const name = named?.name ?? store.active();
  if (name === SANDBOX) {
    throw new PetstoreError('usage', 'profile "sandbox" has no API key', {
      hint: 'to log out of another profile, run `petstore auth logout -p PROFILE`',
    });
  }
  const deleted = options.delete === true;
  checkExists(store, name, named?.from);
  const done = deleted ? store.remove(name) : store.removeKey(name);
  return { removed: done ? [name] : [], deleted, profile: name };
}
