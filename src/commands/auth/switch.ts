// `petstore auth switch`: sets the profile that is used where none is named.
import type { Session } from '../../context.ts';
import type { View } from '../../output/view.ts';
import { storedProfile } from '../../profiles/credentials.ts';
import { checkProfileName } from '../../profiles/store.ts';

/** What the command takes. */
export interface SwitchInput {
  readonly profile: string;
}

/** The active profile now, and before. */
export interface SwitchResult {
  readonly profile: string;
  readonly previous: string;
}

/**
 * @param session the open session
 * @param input the profile's name
 * @returns the active profile
 * @throws PetstoreError `usage` where there is no such profile, `storage`
 */
export async function run(session: Session, input: SwitchInput): Promise<SwitchResult> {
  const store = await session.profiles();
  const name = checkProfileName(input.profile);
  storedProfile(store, name);
  const previous = store.active();
  await store.activate(name);
  const named = session.context.env['PETSTORE_PROFILE'];
  if (named && named !== name) {
    await session.warn('PETSTORE_PROFILE is set and goes before the active profile');
  }
  return { profile: name, previous };
}

export const view: View<SwitchResult> = {
  *text({ profile }) {
    yield `${profile} is active\n`;
  },
};
