// `petstore auth switch`: sets the profile that is used where none is named.

import type { View } from '../../output/view.ts';
import { overridingVariables, storedProfile } from '../../profiles/credentials.ts';
import { checkProfileName, SANDBOX } from '../../profiles/store.ts';
import type { Session } from '../../session.ts';

/** What the command takes. */
export interface SwitchInput {
  readonly profile: string;
}

/** The active profile now, and before. */
export interface SwitchResult {
  readonly profile: string;
  readonly previous: string;
  /** The variables of the environment that go before it; left out where there are none. */
  readonly overriddenBy?: readonly string[];
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
  const overriddenBy = overridingVariables(session.context.env, name);
  if (overriddenBy.length === 0) return { profile: name, previous };
  const verb = overriddenBy.length === 1 ? 'is set and goes' : 'are set and go';
  const hint = name === SANDBOX ? '; -p sandbox goes before them' : '';
  await session.warn(`${listed(overriddenBy)} ${verb} before the active profile${hint}`);
  return { profile: name, previous, overriddenBy };
}

export const view: View<SwitchResult> = {
  *text({ profile }) {
    yield `${profile} is active\n`;
  },
};

function listed(names: readonly string[]): string {
  return names.join(', ').replace(/, (?=[^,]*$)/, ' and ');
}
