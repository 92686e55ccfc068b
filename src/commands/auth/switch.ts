// `petstore auth switch`: sets the profile that is used without --profile.
import type { Action } from '../../command.ts';
import type { View } from '../../output/view.ts';
import { checkExists, overridingVariables } from '../../profiles/credentials.ts';
import { checkProfileName } from '../../profiles/store.ts';
import type { Session } from '../../session.ts';

interface SwitchResult {
  readonly profile: string;
}

const view: View<SwitchResult> = { text: ({ profile }) => [`Profile "${profile}" is now active\n`] };

export const switchAction: Action<object, SwitchResult> = { view, run: switchProfile };

async function switchProfile(session: Session, _options: object, profile = ''): Promise<SwitchResult> {
  const store = await session.profiles();
  checkExists(store, checkProfileName(profile));
  store.get(profile);
  store.activate(profile);
  const overrides = overridingVariables(session.context.env, profile);
  if (overrides.length > 0) {
    const verb = overrides.length === 1 ? 'is set and overrides' : 'are set and override';
    await session.warn(`${overrides.join(' and ')} ${verb} the active profile; use -p ${profile}`);
  }
  return { profile };
}
