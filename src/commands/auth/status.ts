// `petstore auth status`: every profile, what it would use now, and where that comes from. Sends nothing.

import type { Environment } from '../../environment.ts';
import { PetstoreError } from '../../errors.ts';
import { escapeControls } from '../../escape.ts';
import { cellWidth } from '../../output/cell-width.ts';
import { plainStyle } from '../../output/plain-style.ts';
import { table } from '../../output/table.ts';
import type { Column, TextContext, View } from '../../output/view.ts';
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
import type { ProfileStore } from '../../profiles/store.ts';
import { SANDBOX } from '../../profiles/store.ts';
import { maskKey } from '../../redact.ts';
import type { Session } from '../../session.ts';

/** One profile as it would be used now, the environment included. */
export interface ProfileStatus {
  readonly profile: string;
  /** Whether the next command uses it, where its command line says what this one's says. */
  readonly active: boolean;
  /** Of the profile that was made the active one: the variables of the environment that go before it. */
  readonly overriddenBy?: readonly string[];
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
  const { env } = session.context;
  const named = namedProfile({ env, profile: session.options.profile });
  // Where one is named, a damaged file of the active one is not in the way.
  const switchedTo = named === undefined ? store.active() : attempt(() => store.active());
  const active = named?.name ?? (serves(env) ? WITHOUT_PROFILE : (switchedTo ?? WITHOUT_PROFILE));
  // Names what is wrong with `--profile` before anything is shown.
  if (active !== SANDBOX && !store.names().includes(active)) storedProfile(store, active, named?.from);
  const read = await Promise.all(
    store.names().map(async (name) => {
      const over = name === switchedTo ? overridingVariables(env, name) : [];
      // What the next command uses is asked for as it will ask: with the sandbox unnamed, a bad key of the environment counts.
      const profile = name === active ? session.options.profile : name;
      const row = { profile: name, active: name === active, ...(over.length > 0 && { overriddenBy: over }) };
      return statusOf(session, store, row, profile);
    }),
  );
  const failure = read.find((one) => one.failure)?.failure;
  return { profiles: read.map((one) => one.status), ...(failure && { failure }) };
}

/**
 * @param data what `run` returned
 * @returns the failure of a file that could not be read, once the rest has been shown
 */
export function exitError(data: StatusResult): PetstoreError | undefined {
  return data.failure;
}

const BESIDE: readonly Column<ProfileStatus>[] = [
  { header: '', value: (row) => (row.active ? '*' : '') },
  { header: 'profile', value: (row) => row.profile },
  { header: 'url', value: (row) => (row.keySource === 'sandbox' ? '(serves itself)' : (row.url ?? '-')) },
  { header: 'key', value: (row) => row.key ?? '-' },
  { header: 'from', value: from },
];
const COLUMNS: typeof BESIDE = [...BESIDE, { header: 'note', value: note }];

/** A table where it fits, else one with the notes below its rows, else a block per profile: nothing is cut. */
export const view: View<StatusResult> = {
  json: (data) => data.profiles,
  *text({ profiles }, look) {
    const fits = (columns: typeof COLUMNS): boolean =>
      lines(table(columns, profiles, undefined, plainStyle)).every(
        (line) => cellWidth(line) <= (look.columns ?? Infinity),
      );
    if (fits(COLUMNS)) yield* look.table(COLUMNS, profiles);
    else if (fits(BESIDE)) yield* notesBelow(profiles, look);
    else for (const row of profiles) yield* block(row, look);
  },
};

function lines(pieces: Iterable<string>): string[] {
  return [...pieces].join('').split('\n').slice(0, -1);
}

function* notesBelow(profiles: readonly ProfileStatus[], look: TextContext): Iterable<string> {
  const [heading, ...rows] = lines(look.table(BESIDE, profiles));
  // Below the URL.
  const indent = Math.max(...profiles.map(({ profile }) => profile.length), 'profile'.length) + 5;
  yield `${heading}\n`;
  for (const [at, row] of rows.entries()) {
    const text = note(profiles[at] as ProfileStatus);
    yield `${row}\n${text === '' ? '' : `${' '.repeat(indent)}${hangingIndent(escapeControls(text), look.columns, indent)}\n`}`;
  }
}

/** Where the texts of a block begin, in cells: after the indent, the longest name and a blank. */
const INDENT = 9;

function* block(row: ProfileStatus, { style, columns }: TextContext): Iterable<string> {
  yield `${row.active ? '*' : ' '} ${style.bold(escapeControls(row.profile))}\n`;
  const facts = COLUMNS.slice(2).map(({ header, value }) => ({ header, text: escapeControls(value(row) ?? '') }));
  for (const { header, text } of facts.filter(({ text }) => text !== '' && text !== '-')) {
    yield `    ${style.dim(header.padEnd(INDENT - 4))}${hangingIndent(text, columns, INDENT)}\n`;
  }
}

function from(row: ProfileStatus): string {
  const { keySource, urlSource } = row;
  if (keySource === urlSource) return keySource ?? '';
  const parts = [urlSource && `URL ${urlSource}`, keySource && `key ${keySource}`];
  return parts.filter((part) => part !== null).join(', ');
}

function note(row: ProfileStatus): string {
  // Of the row that is used, the sources say it.
  const first = row.active ? undefined : row.overriddenBy?.join(', ');
  const over = first && `made the active one, but the environment goes first: ${first}`;
  return [row.problem, over].filter(Boolean).join('; ');
}

// Key and URL of the environment, which need no profile.
function serves(env: Environment): boolean {
  return environmentHasKey(env) && attempt(() => environmentUrl(env)) !== undefined;
}

async function statusOf(
  session: Session,
  store: ProfileStore,
  row: Pick<ProfileStatus, 'profile' | 'active' | 'overriddenBy'>,
  asked: string | undefined,
): Promise<{ readonly status: ProfileStatus; readonly failure?: PetstoreError }> {
  const { env } = session.context;
  try {
    const target = await resolveTarget({
      env,
      profile: asked,
      store: async () => store,
      stateDir: () => '',
      // The key is not needed to show where it comes from.
      runKeyCommand: async () => 'not-run',
    });
    const { urlSource, keySource } = target;
    const sandbox = keySource === 'sandbox';
    session.redactor.add(target.key);
    const shown = {
      url: sandbox ? null : target.baseUrl,
      key: sandbox || keySource === 'command' ? null : maskKey(target.key),
    };
    return { status: { ...row, url: shown.url, urlSource, key: shown.key, keySource } };
  } catch (error) {
    if (!(error instanceof PetstoreError)) throw error;
    const status = { ...row, ...halves(session, store, row.profile, error), problem: error.message };
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
