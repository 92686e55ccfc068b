// `petstore auth status`: lists the profiles with base URL, masked key and their sources. Sends nothing.
import type { Action } from '../../command.ts';
import type { PetstoreError } from '../../errors.ts';
import { escapeControls } from '../../escape.ts';
import { capitalize } from '../../format.ts';
import type { Column, View } from '../../output/view.ts';
import type { Credentials, Target } from '../../profiles/credentials.ts';
import { findCredentials } from '../../profiles/credentials.ts';
import { maskKey } from '../../redact.ts';
import type { Session } from '../../session.ts';

interface ProfileStatus {
  readonly profile: string;
  /** Whether a command with the same options uses it. */
  readonly active: boolean;
  readonly url: string | null;
  readonly urlSource: Target['urlSource'] | null;
  /** Masked; null if no key would be sent. */
  readonly key: string | null;
  readonly keySource: Target['keySource'] | null;
  /** The error message of a command with this profile. */
  readonly problem?: string;
}

interface StatusResult {
  readonly profiles: readonly ProfileStatus[];
  /** The first file that could not be read. */
  readonly failure?: PetstoreError;
}

const COLUMNS: readonly Column<ProfileStatus>[] = [
  { header: '  profile', value: ({ active, profile }) => `${active ? '*' : ' '} ${profile}` },
  { header: 'url', value: ({ url, urlSource }) => cell(url, urlSource), wrap: true },
  { header: 'key', value: ({ key, keySource }) => cell(key, keySource), wrap: true },
];

const view: View<StatusResult> = {
  json: ({ profiles }) => profiles,
  *text({ profiles }, { table }) {
    yield* table(COLUMNS, profiles);
    const problems = profiles.flatMap(({ problem }) => problem ?? []);
    const lines = problems.map((problem) => `${capitalize(escapeControls(problem))}\n`);
    if (lines.length > 0) yield `\n${lines.join('')}`;
  },
  tables: true,
  failure: ({ failure }) => failure,
};

export const statusAction: Action<object, StatusResult> = { view, run: readStatus };

async function readStatus(session: Session): Promise<StatusResult> {
  const { env, redactor } = session.context;
  const store = await session.profiles();
  const find = (profile: string | undefined) => findCredentials({ env, profile, store: async () => store });
  const used = await find(session.options.profile);
  const names = store.names();
  if (used.problem && !names.includes(used.profile)) throw used.problem;
  const found = await Promise.all(names.map((name) => (name === used.profile ? used : find(name))));
  for (const { key } of found) if (key !== undefined) redactor.add(key);
  const failure = found.find(({ problem }) => problem?.kind === 'storage')?.problem;
  return { profiles: found.map((one) => toStatus(one, one === used)), ...(failure && { failure }) };
}

function toStatus(
  { profile, baseUrl, urlSource, key, keySource, problem }: Credentials,
  active: boolean,
): ProfileStatus {
  return {
    profile,
    active,
    url: baseUrl ?? null,
    urlSource: urlSource ?? null,
    key: key === undefined ? null : maskKey(key),
    keySource: keySource ?? null,
    ...(problem && { problem: problem.message }),
  };
}

function cell(value: string | null, source: string | null): string {
  if (source === 'sandbox') return 'built in';
  if (source === 'command') return 'from a key command';
  return `${value ?? '-'}${source === 'environment' ? ' (env)' : ''}`;
}
