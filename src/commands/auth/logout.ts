// `petstore auth logout`: removes a profile's key, or whole profiles.
import { PetstoreError } from '../../errors.ts';
import type { View } from '../../output/view.ts';
import { namedProfile, storedProfile } from '../../profiles/credentials.ts';
import { SANDBOX } from '../../profiles/store.ts';
import type { Session } from '../../session.ts';

export interface LogoutInput {
  /** Every profile, damaged ones too. */
  readonly all: boolean;
  /** The whole profile instead of its key. */
  readonly delete: boolean;
}

export interface LogoutResult {
  /** The profiles whose key was removed, or that were deleted; empty where there was nothing to remove. */
  readonly removed: readonly string[];
  readonly deleted: boolean;
  readonly profile?: string;
}

/** @throws PetstoreError `usage` for an unknown profile, `storage` where a file cannot be changed */
export async function run(session: Session, input: LogoutInput): Promise<LogoutResult> {
  const store = await session.profiles();
  if (session.context.env['PETSTORE_API_KEY'] !== undefined) {
    await session.warn('PETSTORE_API_KEY is still set; commands keep using that key');
  }
  if (input.all) return { removed: store.removeAll(), deleted: true };
  const named = namedProfile({ env: session.context.env, profile: session.options.profile });
  const name = named?.name ?? store.active();
  if (name === SANDBOX) {
    throw new PetstoreError('usage', 'profile "sandbox" has no API key', {
      hint: 'name another profile: `petstore auth logout -p PROFILE`, or use --all',
    });
  }
  // A damaged profile can still be deleted.
  if (!input.delete) storedProfile(store, name, named?.from);
  const done = input.delete ? store.remove(name) : store.removeKey(name);
  return { removed: done ? [name] : [], deleted: input.delete, profile: name };
}

export const view: View<LogoutResult> = {
  *text({ removed, deleted, profile }) {
    const names = removed.map((name) => `"${name}"`).join(', ');
    if (removed.length === 0)
      yield profile ? `No API key is stored for profile "${profile}"\n` : 'No profile has an API key\n';
    else yield `${deleted ? 'Deleted' : 'Removed the API key of'} profile${removed.length > 1 ? 's' : ''} ${names}\n`;
  },
};
