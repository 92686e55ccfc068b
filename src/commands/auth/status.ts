// `petstore auth status`: every profile, what a command would use now, and where that comes from. Sends nothing.
import type { Environment } from '../../environment.ts';
import { PetstoreError } from '../../errors.ts';
import { escapeControls } from '../../escape.ts';
import type { Column } from '../../output/view.ts';
import { hangingIndent } from '../../output/wrap.ts';
import type { Target } from '../../profiles/credentials.ts';
import {
  environmentHasKey,
  environmentKey,
  environmentUrl,
  namedProfile,
  overridingVariables,
  resolveTarget,
  storedProfile,
  WITHOUT_PROFILE,
} from '../../profiles/credentials.ts';
import type { ProfileStore, StoredProfile } from '../../profiles/store.ts';
import { SANDBOX } from '../../profiles/store.ts';
import { maskKey } from '../../redact.ts';
import type { Session } from '../../session.ts';
import { defineCommand } from '../command.ts';

interface ProfileStatus {
  readonly profile: string;
  /** Whether a command with the same options uses it. */
  readonly active: boolean;
  /** Environment variables that override the active profile. */
  readonly overriddenBy?: readonly string[];
  readonly url: string | null;
  readonly urlSource: Target['urlSource'] | null;
  /** Masked; null where no key would be sent. */
  readonly key: string | null;
  readonly keySource: Target['keySource'] | null;
  /** Why a command with this profile would fail. */
  readonly problem?: string;
}

interface StatusResult {
  readonly profiles: readonly ProfileStatus[];
  /** The first file that could not be read. */
  readonly failure?: PetstoreError;
}

export const status = defineCommand<object, StatusResult>({
  name: 'status',
  description: 'show every profile: active or not, base URL, masked key and their source',
  help: {
    notes: 'Nothing is sent. A key is shown as its last four characters at most.',
    output: `a table; with --json an array of {"profile", "active", "url", "urlSource", "key", "keySource",
"problem", "overriddenBy"}. The active profile is the one that the next command uses.`,
    exitCodes: '2 unknown profile, 9 a profile cannot be read.',
    examples: ['petstore auth status', "petstore auth status --json | jq -r '.[] | select(.active) | .url'"],
  },
  action: {
    run: readStatus,
    exitError: ({ failure }) => failure,
    view: {
      json: ({ profiles }) => profiles,
      *text({ profiles }, { table, columns }) {
        yield* table(COLUMNS, profiles);
        const notes = profiles.map(note).filter((text) => text !== '');
        if (notes.length > 0) yield `\n${notes.map((text) => hangingIndent(text, columns, 0)).join('\n')}\n`;
      },
      tables: true,
    },
  },
});

async function readStatus(session: Session): Promise<StatusResult> {
  const store = await session.profiles();
  const { env } = session.context;
  const named = namedProfile({ env, profile: session.options.profile });
  // A damaged file of the active profile does not matter when another one is named.
  const switchedTo = named === undefined ? store.active() : attempt(() => store.active());
  const active = named?.name ?? (environmentSuffices(env) ? WITHOUT_PROFILE : (switchedTo ?? WITHOUT_PROFILE));
  if (active !== SANDBOX && !store.names().includes(active)) storedProfile(store, active, named?.from);
  const read = await Promise.all(
    store.names().map(async (name) => {
      const over = name === switchedTo ? overridingVariables(env, name) : [];
      const row = { profile: name, active: name === active, ...(over.length > 0 && { overriddenBy: over }) };
      // The active profile is resolved as the next command resolves it: unnamed, unless --profile names it.
      return statusOf(session, store, row, name === active ? session.options.profile : name);
    }),
  );
  const failure = read.find((one) => one.failure)?.failure;
  return { profiles: read.map((one) => one.status), ...(failure && { failure }) };
}

const COLUMNS: readonly Column<ProfileStatus>[] = [
  { header: '  profile', value: ({ active, profile }) => `${active ? '*' : ' '} ${profile}` },
  { header: 'url', value: ({ url, urlSource }) => cell(url, urlSource), wrap: true },
  { header: 'key', value: ({ key, keySource }) => cell(key, keySource), wrap: true },
];

function cell(value: string | null, source: string | null): string {
  if (source === 'sandbox') return 'built in';
  if (source === 'command') return 'from a key command';
  return `${value ?? '-'}${source === 'environment' ? ' (env)' : ''}`;
}

function note({ profile, active, problem, overriddenBy }: ProfileStatus): string {
  if (problem !== undefined) return escapeControls(problem);
  return active || !overriddenBy ? '' : `profile "${profile}" is overridden by ${overriddenBy.join(' and ')}`;
}

// With key and URL in the environment no profile is needed.
function environmentSuffices(env: Environment): boolean {
  return environmentHasKey(env) && attempt(() => environmentUrl(env)) !== undefined;
}

async function statusOf(
  session: Session,
  store: ProfileStore,
  row: Pick<ProfileStatus, 'profile' | 'active' | 'overriddenBy'>,
  named: string | undefined,
): Promise<{ readonly status: ProfileStatus; readonly failure?: PetstoreError }> {
  const { env } = session.context;
  try {
    const target = await resolveTarget({
      env,
      profile: named,
      store: async () => store,
      stateDir: () => '',
      // The key is not needed to show where it comes from.
      runKeyCommand: async () => 'not-run',
    });
    const { urlSource, keySource } = target;
    const sandbox = keySource === 'sandbox';
    session.redactor.add(target.key);
    const key = sandbox || keySource === 'command' ? null : maskKey(target.key);
    return { status: { ...row, url: sandbox ? null : target.baseUrl, urlSource, key, keySource } };
  } catch (error) {
    if (!(error instanceof PetstoreError)) throw error;
    const readable = error.kind === 'storage' ? undefined : store.get(row.profile);
    const status = { ...row, ...partialCredentials(named === undefined ? env : {}, readable), problem: error.message };
    return { status, ...(error.kind === 'storage' && { failure: error }) };
  }
}

// A profile that cannot be used may have a URL without a key, or a key without a URL.
function partialCredentials(env: Environment, stored: StoredProfile | undefined) {
  const url = attempt(() => environmentUrl(env)?.url);
  const key = attempt(() => environmentKey(env));
  return {
    url: url ?? stored?.url ?? null,
    urlSource: url ? ('environment' as const) : stored?.url === undefined ? null : ('stored' as const),
    key: key === undefined ? null : maskKey(key),
    keySource: key === undefined ? null : ('environment' as const),
  };
}

function attempt<Value>(read: () => Value): Value | undefined {
  try {
    return read();
  } catch {
    // Already reported as the problem of the row.
    return undefined;
  }
}
