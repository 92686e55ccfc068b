// `petstore auth logout`, `auth status` and `auth switch`: the saved profiles. Nothing is sent.
import { PetstoreError } from '../../../errors.ts';
import { escapeControls } from '../../../text/escape.ts';
import { capitalize } from '../../../text/format.ts';
import { maskKey } from '../../../text/redact.ts';
import type { Action } from '../../command.ts';
import { actionHandler, PetstoreCommand, rootOf } from '../../command.ts';
import type { Column } from '../../output/view.ts';
import type { FoundKey, FoundUrl, SelectedProfile } from '../../profiles/credentials.ts';
import {
  findKey,
  findUrl,
  keyVariable,
  overridingVariables,
  requestedProfile,
  selectProfile,
} from '../../profiles/credentials.ts';
import { checkProfileExists, checkProfileName, hasKey, SANDBOX } from '../../profiles/store.ts';

interface LogoutResult {
  readonly profile: string;
  /** False if there was nothing to remove. */
  readonly removed: boolean;
  /** Whether the whole profile was deleted. */
  readonly deleted: boolean;
  /** The profile that became active because the removed profile was active. */
  readonly activated: string | null;
}

const logoutAction: Action<{ readonly delete?: true }, LogoutResult> = {
  async run(session, options) {
    const { request } = session;
    const store = await session.profiles();
    const variable = keyVariable(request);
    if (variable) await session.warn(`${variable} is still set and overrides saved keys`);
    const profile = requestedProfile(request) ?? store.active();
    if (profile === SANDBOX) {
      throw new PetstoreError('usage', 'profile "sandbox" has a built-in key, which cannot be removed', {
        hint: 'run `petstore auth logout NAME` to log out of another profile',
      });
    }
    checkProfileExists(profile, store.names(), request.profileVariable, 'use one of them');
    if (options.delete) {
      const before = store.active();
      const deleted = store.remove(profile);
      const active = store.active();
      return { profile, removed: deleted, deleted, activated: active === before ? null : active };
    }
    const saved = store.get(profile);
    const removed = hasKey(saved);
    if (removed) store.save(profile, { url: saved?.url });
    return { profile, removed, deleted: false, activated: null };
  },
  view: {
    text({ profile, removed, deleted, activated }) {
      const done = deleted ? 'Deleted' : removed ? 'Removed the key of' : 'No key is saved for';
      return [`${done} profile "${profile}"\n`, activated === null ? '' : `Profile "${activated}" is now active\n`];
    },
  },
};

const switchAction: Action<object, { readonly profile: string; readonly changed: boolean }> = {
  async run(session, _options, profile = '') {
    const store = await session.profiles();
    checkProfileExists(checkProfileName(profile), store.names());
    const changed = store.active() !== profile;
    if (changed) store.activate(profile);
    for (const name of overridingVariables(session.context.env)) {
      await session.warn(
        `${name} is set and overrides the active profile; to use profile "${profile}", add -p ${profile}`,
      );
    }
    return { profile, changed };
  },
  view: {
    json: ({ profile }) => ({ profile }),
    text: ({ profile, changed }) => [`Profile "${profile}" is ${changed ? 'now' : 'already'} active\n`],
  },
};

interface ListedProfile {
  readonly profile: string;
  /** Whether a command with the same options uses this profile. */
  readonly active: boolean;
  readonly url?: FoundUrl;
  readonly key?: FoundKey;
  /** The program of the key command. */
  readonly program?: string;
  /** Whether the profile has saved values. */
  readonly isSaved: boolean;
  /** The error of a command that uses this profile. */
  readonly problem?: PetstoreError;
}

const COLUMNS: readonly Column<ListedProfile>[] = [
  { header: '  profile', value: ({ active, profile }) => `${active ? '*' : ' '} ${profile}` },
  {
    header: 'url',
    value: ({ url }) => cell(url?.url, url?.urlSource),
    wrap: true,
  },
  {
    header: 'key',
    value: ({ key, program }) =>
      program ? `from key command \`${program}\`` : cell(key?.key && maskKey(key.key), key?.keySource),
    wrap: true,
  },
];

function cell(text: string | undefined, source: FoundKey['keySource'] | undefined): string {
  if (source === 'sandbox') return 'built in';
  return `${text ?? '-'}${source === 'environment' ? ' (env)' : ''}`;
}

const statusAction: Action<object, readonly ListedProfile[]> = {
  async run({ context: { redactor }, request, profiles }) {
    const store = await profiles();
    const { profile: used } = await selectProfile(request, profiles);
    const names = store.names();
    checkProfileExists(used, names, request.profileVariable);
    const rows = names.map(async (profile) => {
      const active = profile === used;
      // The environment overrides only the active profile.
      return { profile, active, ...(await inspect(await selectProfile(active ? request : { profile }, profiles))) };
    });
    const listed = await Promise.all(rows);
    for (const { key } of listed) redactor.add(key?.key ?? '');
    return listed;
  },
  view: {
    json: (profiles) =>
      profiles.map(({ profile, active, url, key, program, problem }) => ({
        profile,
        active,
        url: url?.url ?? null,
        urlSource: url?.urlSource ?? null,
        key: key?.key ? maskKey(key.key) : null,
        keySource: key?.keySource ?? null,
        ...(program !== undefined && { keyCommand: program }),
        ...(problem && { problem: problem.message }),
      })),
    *text(profiles, { table }) {
      yield* table(COLUMNS, profiles);
      // A built-in profile that is not used needs no URL.
      const relevant = profiles.filter(({ active, isSaved }) => active || isSaved);
      const problems = relevant.flatMap(({ problem }) => problem?.message ?? []);
      if (problems.length > 0) yield `\n${problems.map((text) => `${capitalize(escapeControls(text))}\n`).join('')}`;
    },
    tables: true,
  },
};

async function inspect(selected: SelectedProfile): Promise<Omit<ListedProfile, 'profile' | 'active'>> {
  const isSaved = selected.stored !== undefined;
  let url: FoundUrl | undefined;
  try {
    url = findUrl(selected);
    const key = findKey(selected, url);
    if (!key.keyCommand) return { isSaved, url, key };
    const { programOf } = await import('../../profiles/key-command.ts');
    return { isSaved, url, key, program: programOf(key.keyCommand) };
  } catch (problem) {
    if (!(problem instanceof PetstoreError)) throw problem;
    return { isSaved, ...(url && { url }), problem };
  }
}

/** The argument sets `--profile`, so that the environment is ignored and hints name the profile, as with the option. */
export function acceptProfileArgument(command: PetstoreCommand): PetstoreCommand {
  return command.argument('[name]', 'name of the profile (default: the active profile)').hook('preAction', () => {
    const root = rootOf(command);
    const { profile: option } = root.opts();
    const [name = option] = command.args;
    // A key in place of a name is reported first.
    if (name !== undefined) checkProfileName(name);
    if (option !== undefined && option !== name) {
      throw new PetstoreError('usage', 'NAME and --profile must not differ', { hint: 'use one of them' });
    }
    root.setOptionValue('profile', name);
  });
}

export const logout = (): PetstoreCommand =>
  acceptProfileArgument(new PetstoreCommand('logout'))
    .description("remove a profile's API key and keep its base URL")
    .option('--delete', 'delete the whole profile')
    .sections({
      output: `one line; with --json {"profile", "removed", "deleted", "activated"}: activated is the profile that became
active, or null.`,
      exitCodes: ['usage', 'storage'],
      examples: ['petstore auth logout', 'petstore auth logout staging --delete'],
    })
    .action(actionHandler(async () => logoutAction));

export const status = (): PetstoreCommand =>
  new PetstoreCommand('status')
    .alias('list')
    .description('list profiles with their base URL, masked key and the source of each')
    .sections({
      notes: `Nothing is sent. At most the last four characters of a key are shown. An asterisk marks the profile
that the next command uses.`,
      output: `a table; with --json an array of {"profile", "active", "url", "urlSource", "key", "keySource",
"keyCommand", "problem"}. For a key command, only the program is shown, since an argument may be a key.`,
      exitCodes: ['usage', 'storage'],
      examples: ['petstore auth status', "petstore auth status --json | jq -r '.[] | select(.active) | .url'"],
    })
    .action(actionHandler(async () => statusAction));

export const switchTo = (): PetstoreCommand =>
  new PetstoreCommand('switch')
    .description('set the active profile')
    .argument('<profile>', 'name of the profile')
    .sections({
      notes: `PETSTORE_PROFILE overrides the active profile; PETSTORE_API_KEY, PETSTORE_API_KEY_COMMAND and PETSTORE_BASE_URL override
its key and base URL. A warning names each variable that is set.`,
      output: 'one line; with --json {"profile"}.',
      exitCodes: ['usage', 'storage'],
      examples: ['petstore auth switch staging', 'petstore auth switch sandbox'],
    })
    .action(actionHandler(async () => switchAction));
