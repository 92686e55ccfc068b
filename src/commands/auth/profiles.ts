// `petstore auth logout`, `auth status` and `auth switch`: the saved profiles. Nothing is sent.
import type { Action } from '../../command.ts';
import { actionHandler, PetstoreCommand } from '../../command.ts';
import { PetstoreError } from '../../errors.ts';
import { escapeControls } from '../../escape.ts';
import { capitalize } from '../../format.ts';
import type { Column } from '../../output/view.ts';
import type { Credentials } from '../../profiles/credentials.ts';
import { findCredentials, keyVariable, namedProfile, overridingVariables } from '../../profiles/credentials.ts';
import { checkExists, checkProfileName, SANDBOX } from '../../profiles/store.ts';
import { maskKey } from '../../redact.ts';

interface LogoutResult {
  readonly profile: string;
  /** False if there was nothing to remove. */
  readonly removed: boolean;
  readonly deleted: boolean;
}

const logoutAction: Action<{ readonly delete?: true }, LogoutResult> = {
  async run(session, options) {
    const { env } = session.context;
    const { profile: typed } = session.options;
    const store = await session.profiles();
    // With --profile, the environment is ignored.
    const variable = typed === undefined ? keyVariable(env) : undefined;
    if (variable) await session.warn(`${variable} is still set and overrides saved keys`);
    const named = namedProfile(env, typed);
    const profile = named?.name ?? store.active();
    if (profile === SANDBOX) {
      throw new PetstoreError('usage', 'profile "sandbox" has a built-in key, which cannot be removed', {
        hint: 'run `petstore auth logout -p PROFILE` to log out of another profile',
      });
    }
    checkExists(profile, store.names(), named?.from, 'run `petstore auth status` to list the profiles');
    const deleted = options.delete === true;
    return { profile, removed: deleted ? store.remove(profile) : store.removeKey(profile), deleted };
  },
  view: {
    text({ profile, removed, deleted }) {
      if (!removed) return [`No API key is saved for profile "${profile}"\n`];
      return [`${deleted ? 'Deleted' : 'Removed the API key of'} profile "${profile}"\n`];
    },
  },
};

const switchAction: Action<object, { readonly profile: string }> = {
  async run(session, _options, profile = '') {
    const store = await session.profiles();
    checkExists(checkProfileName(profile), store.names());
    store.get(profile);
    store.activate(profile);
    for (const name of overridingVariables(session.context.env, profile)) {
      await session.warn(`${name} is set and overrides the active profile; use -p ${profile}`);
    }
    return { profile };
  },
  view: { text: ({ profile }) => [`Profile "${profile}" is now active\n`] },
};

interface ListedProfile extends Credentials {
  /** Whether a command with the same options uses it. */
  readonly active: boolean;
}

const COLUMNS: readonly Column<ListedProfile>[] = [
  { header: '  profile', value: ({ active, profile }) => `${active ? '*' : ' '} ${profile}` },
  { header: 'url', value: ({ baseUrl, urlSource }) => cell(baseUrl, urlSource), wrap: true },
  { header: 'key', value: ({ key, keySource }) => cell(key && maskKey(key), keySource), wrap: true },
];

const statusAction: Action<object, readonly ListedProfile[]> = {
  async run(session) {
    const { env, redactor } = session.context;
    const store = await session.profiles();
    const find = (profile?: string) => findCredentials(env, profile, async () => store);
    const used = await find(session.options.profile);
    const names = store.names();
    if (used.problem && !names.includes(used.profile)) throw used.problem;
    const found = await Promise.all(names.map((name) => (name === used.profile ? used : find(name))));
    for (const { key } of found) if (key !== undefined) redactor.add(key);
    return found.map((one) => ({ ...one, active: one === used }));
  },
  view: {
    json: (profiles) =>
      profiles.map(({ profile, active, baseUrl, urlSource, key, keySource, problem }) => ({
        profile,
        active,
        url: baseUrl ?? null,
        urlSource: urlSource ?? null,
        key: key ? maskKey(key) : null,
        keySource: keySource ?? null,
        ...(problem && { problem: problem.message }),
      })),
    *text(profiles, { table }) {
      yield* table(COLUMNS, profiles);
      const problems = profiles.flatMap(({ problem }) => problem?.message ?? []);
      const lines = problems.map((problem) => `${capitalize(escapeControls(problem))}\n`);
      if (lines.length > 0) yield `\n${lines.join('')}`;
    },
    tables: true,
    failure: (profiles) => profiles.find(({ problem }) => problem?.kind === 'storage')?.problem,
  },
};

function cell(value: string | undefined, source: Credentials['urlSource'] | Credentials['keySource']): string {
  if (source === 'sandbox') return 'built in';
  if (source === 'command') return 'from a key command';
  return `${value ?? '-'}${source === 'environment' ? ' (env)' : ''}`;
}

export const logout = (): PetstoreCommand =>
  new PetstoreCommand('logout')
    .description("remove a profile's API key and keep its base URL")
    .option('--delete', 'delete the whole profile')
    .sections({
      output: 'one line; with --json {"profile", "removed", "deleted"}.',
      examples: ['petstore auth logout', 'petstore auth logout -p staging --delete'],
    })
    .action(actionHandler(async () => logoutAction));

export const status = (): PetstoreCommand =>
  new PetstoreCommand('status')
    .description('list profiles with their base URL, masked key and source')
    .sections({
      notes: 'Nothing is sent. At most the last four characters of a key are shown.',
      output: `a table; with --json an array of {"profile", "active", "url", "urlSource", "key", "keySource",
"problem"}. The active profile is the one that the next command uses.`,
      examples: ['petstore auth status', "petstore auth status --json | jq -r '.[] | select(.active) | .url'"],
    })
    .action(actionHandler(async () => statusAction));

export const switchTo = (): PetstoreCommand =>
  new PetstoreCommand('switch')
    .description('set the active profile')
    .argument('<profile>', 'name of the profile')
    .sections({
      notes: `PETSTORE_PROFILE, PETSTORE_API_KEY, PETSTORE_API_KEY_COMMAND and PETSTORE_BASE_URL override the active
profile; a warning names each that is set.`,
      output: 'one line; with --json {"profile"}.',
      examples: ['petstore auth switch staging', 'petstore auth switch sandbox'],
    })
    .action(actionHandler(async () => switchAction));
