// The profile as an argument of `auth login` and `auth logout`, in place of `--profile`.
import type { PetstoreCommand } from '../../command.ts';
import { rootOf } from '../../command.ts';
import { PetstoreError } from '../../errors.ts';
import { looksLikeKey } from '../../redact.ts';

/** The argument sets `--profile`, so that the environment is ignored and hints name the profile, as with the option. */
export function acceptProfile(command: PetstoreCommand): PetstoreCommand {
  return command.argument('[profile]', 'name of the profile, as with --profile').hook('preAction', () => {
    const [name] = command.args;
    if (name === undefined) return;
    if (looksLikeKey(name)) {
      throw new PetstoreError('usage', `auth ${command.name()} takes no API key as an argument`, {
        hint: command.name() === 'login' ? 'pipe the key to stdin' : 'pass the name of a profile',
      });
    }
    const root = rootOf(command);
    const { profile = name } = root.opts();
    if (profile !== name) {
      throw new PetstoreError('usage', 'the argument and --profile name different profiles', {
        hint: 'use one of them',
      });
    }
    root.setOptionValue('profile', name);
  });
}
