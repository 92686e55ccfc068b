// `petstore auth switch`: sets the profile that is used without --profile.
import { Argument } from 'commander';
import { overridingVariables, storedProfile } from '../../profiles/credentials.ts';
import { checkProfileName, SANDBOX } from '../../profiles/store.ts';
import { defineCommand } from '../command.ts';

interface SwitchResult {
  readonly profile: string;
  readonly previous: string;
  /** Environment variables that override it; absent where there are none. */
  readonly overriddenBy?: readonly string[];
}

export const switchTo = defineCommand<object, SwitchResult>({
  name: 'switch',
  description: 'set the active profile, which is used without --profile',
  arguments: [new Argument('<profile>', 'name of the profile')],
  help: {
    notes: `PETSTORE_PROFILE, PETSTORE_API_KEY and PETSTORE_BASE_URL override the active profile; a warning names
those that are set.`,
    output: 'one line; with --json {"profile", "previous", "overriddenBy"}.',
    examples: ['petstore auth switch staging', 'petstore auth switch sandbox'],
  },
  action: {
    async run(session, { args: [profile = ''] }) {
      const store = await session.profiles();
      const name = checkProfileName(profile);
      storedProfile(store, name);
      const previous = store.active();
      store.activate(name);
      const overriddenBy = overridingVariables(session.context.env, name);
      if (overriddenBy.length === 0) return { profile: name, previous };
      const verb = overriddenBy.length === 1 ? 'is set and overrides' : 'are set and override';
      const hint = name === SANDBOX ? '; use -p sandbox' : '';
      await session.warn(`${overriddenBy.join(' and ')} ${verb} the active profile${hint}`);
      return { profile: name, previous, overriddenBy };
    },
    view: { text: ({ profile }) => [`Profile "${profile}" is now active\n`] },
  },
});
