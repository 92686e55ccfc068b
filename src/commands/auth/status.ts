// `petstore auth status`: every profile, what it would use now, and where that comes from. Sends nothing.
import type { Session } from '../../context.ts';
import { PetstoreError } from '../../errors.ts';
import type { Column, View } from '../../output/view.ts';
import type { Target } from '../../profiles/credentials.ts';
import {
  environmentKey,
  environmentUrl,
  namedProfile,
  resolveTarget,
  storedProfile,
} from '../../profiles/credentials.ts';
import type { ProfileStore } from '../../profiles/store.ts';
import { SANDBOX } from '../../profiles/store.ts';
import { maskKey } from '../../text.ts';

/** One profile as it would be used now, the environment included. */
export interface ProfileStatus {
  readonly profile: string;
  /** Whether it is used where the command line names none. */
  readonly active: boolean;
  /** Null where there is none, and for the embedded sandbox. */
  readonly url: string | null;
  readonly urlSource: Target['urlSource'] | null;
  /** Masked; null where there is none that would be sent. */
  readonly key: string | null;
  readonly keySource: Target['keySource'] | null;
  /** Why a command with this profile would fail. */
  readonly problem?: string;
}

/** The profiles, and the first file that could not be read. */
export interface StatusResult {
  readonly profiles: readonly ProfileStatus[];
  readonly failure?: PetstoreError;
}

/**
 * @param session the open session
 * @returns every profile there is
 * @throws PetstoreError `storage` where the folder or the file of the active profile cannot be read
 */
export async function run(session: Session): Promise<StatusResult> {
  const store = await session.profiles();
  const named = namedProfile({ env: session.context.env, profile: session.globals.profile });
  const active = named?.name ?? store.active();
  // Names what is wrong with the one that was asked for before anything is shown.
  if (active !== SANDBOX && !store.names().includes(active)) storedProfile(store, active, named?.from);
  const read = await Promise.all(store.names().map((name) => statusOf(session, store, name, name === active)));
  const failure = read.find((one) => one.failure)?.failure;
  return { profiles: read.map((one) => one.status), ...(failure && { failure }) };
}

/**
 * @param data what `run` returned
 * @returns the failure of a file that could not be read, once the rest has been shown
 */
export function outcome(data: StatusResult): PetstoreError | undefined {
  return data.failure;
}

const COLUMNS: readonly Column<ProfileStatus>[] = [
  { header: '', value: (row) => (row.active ? '*' : '') },
  { header: 'profile', value: (row) => row.profile },
  { header: 'url', value: (row) => (row.keySource === 'sandbox' ? '(serves itself)' : (row.url ?? '-')), shrink: 2 },
  { header: 'key', value: (row) => row.key ?? '-' },
  { header: 'from', value: from },
  { header: 'note', value: (row) => row.problem ?? '', shrink: 1 },
];

export const view: View<StatusResult> = {
  json: (data) => data.profiles,
  text: (data, look) => look.table(COLUMNS, data.profiles),
};

function from(row: ProfileStatus): string {
  if (row.keySource === 'environment') return 'PETSTORE_API_KEY';
  return row.keySource ?? '';
}

async function statusOf(
  session: Session,
  store: ProfileStore,
  profile: string,
  active: boolean,
): Promise<{ readonly status: ProfileStatus; readonly failure?: PetstoreError }> {
  const { env } = session.context;
  try {
    const target = await resolveTarget({
      env,
      profile,
      store: async () => store,
      stateDir: () => '',
    });
    const { urlSource, keySource } = target;
    const sandbox = keySource === 'sandbox';
    session.redactor.add(target.key);
    const shown = { url: sandbox ? null : target.baseUrl, key: sandbox ? null : maskKey(target.key) };
    return { status: { profile, active, url: shown.url, urlSource, key: shown.key, keySource } };
  } catch (error) {
    if (!(error instanceof PetstoreError)) throw error;
    const status = { profile, active, ...halves(session, store, profile, error), problem: error.message };
    return { status, ...(error.kind === 'storage' && { failure: error }) };
  }
}

// What there is of a profile that cannot be used: a URL without a key, or the other way round.
function halves(session: Session, store: ProfileStore, profile: string, error: PetstoreError) {
  const { env } = session.context;
  const stored = error.kind === 'storage' ? undefined : store.get(profile);
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
    // Said already: it is the row's problem.
    return undefined;
  }
}
