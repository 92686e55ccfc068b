// `petstore auth switch`: sets the profile that is used without --profile.

import type { Command } from 'commander';
import { action, PetstoreCommand } from '../../command.ts';
import type { View } from '../../output/view.ts';
import { overridingVariables, storedProfile } from '../../profiles/credentials.ts';
import type { ProfileStore } from '../../profiles/store.ts';
import { checkProfileName, keyAsProfile, SANDBOX } from '../../profiles/store.ts';
import { looksLikeKey } from '../../redact.ts';
import type { Session } from '../../session.ts';

interface SwitchResult {
  readonly profile: string;
  /** Null if the file that names it was damaged. */
  readonly previous: string | null;
  /** Environment variables that override it; absent if there are none. */
  readonly overriddenBy?: readonly string[];
}

const view: View<SwitchResult> = { text: ({ profile }) => [`Profile "${profile}" is now active\n`] };

export const switchTo = (): Command =>
  new PetstoreCommand('switch')
    .description('set the active profile')
    .argument('<profile>', 'name of the profile')
    .sections({
      notes: `PETSTORE_PROFILE, PETSTORE_API_KEY, PETSTORE_API_KEY_COMMAND and PETSTORE_BASE_URL override the active
profile; a warning names those that are set.`,
      output: 'one line; with --json {"profile", "previous", "overriddenBy"}.',
      examples: ['petstore auth switch staging', 'petstore auth switch sandbox'],
    })
    .action(action(view, switchProfile));

async function switchProfile(session: Session, _options: object, profile = ''): Promise<SwitchResult> {
  const store = await session.profiles();
  const names = store.names();
  if (looksLikeKey(profile) && !names.includes(profile)) throw keyAsProfile('`petstore auth switch`', names);
  const name = checkProfileName(profile);
  storedProfile(store, name);
  const previous = previouslyActive(store);
  store.activate(name);
  const overriddenBy = overridingVariables(session.context.env, name);
  if (overriddenBy.length === 0) return { profile: name, previous };
  const verb = overriddenBy.length === 1 ? 'is set and overrides' : 'are set and override';
  const hint = name === SANDBOX ? '; use -p sandbox' : '';
  await session.warn(`${overriddenBy.join(' and ')} ${verb} the active profile${hint}`);
  return { profile: name, previous, overriddenBy };
}

function previouslyActive(store: ProfileStore): string | null {
  try {
    return store.active();
  } catch {
    return null;
  }
}
