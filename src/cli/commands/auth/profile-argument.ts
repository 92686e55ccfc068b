// The profile as an argument of `auth login` and `auth logout`, in place of `--profile`.
import { PetstoreError } from '../../../errors.ts';
import { looksLikeKey } from '../../../text/redact.ts';
import type { PetstoreCommand } from '../../command.ts';
import { rootOf } from '../../command.ts';
import { keyAsProfileError } from '../../profiles/store.ts';

/** The argument sets `--profile`, so that the environment is ignored and hints name the profile, as with the option. */
export function acceptProfileArgument(command: PetstoreCommand): PetstoreCommand {
  return command.argument('[name]', 'name of the profile (default: the active profile)').hook('preAction', () => {
    const root = rootOf(command);
    const { profile: option } = root.opts();
    const [name = option] = command.args;
    if (name !== undefined && looksLikeKey(name)) throw keyAsProfileError();
    if (option !== undefined && option !== name) {
      throw new PetstoreError('usage', 'NAME and --profile name different profiles', { hint: 'use one of them' });
    }
    root.setOptionValue('profile', name);
  });
}
