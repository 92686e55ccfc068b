// Finds the base URL and API key of a command (docs/cli.md, precedence).
import { PetstoreError } from '../errors.ts';
import type { Environment } from '../io.ts';
import type { BaseUrl } from './credential-rules.ts';
import { checkBaseUrl, checkKey, parseBaseUrl } from './credential-rules.ts';
import { sandboxDataFile } from './paths.ts';
import type { ProfileStore, StoredProfile } from './store.ts';
import { BUILT_IN, checkProfileName, FIRST_ACTIVE, hasKey, SANDBOX, unknownProfile } from './store.ts';

/** The base URL and API key of a command's requests. */
export interface Target {
  readonly profile: string;
  /** Ends in `/v1`, without a trailing slash; empty for the embedded sandbox. */
  readonly baseUrl: string;
  /** Never printed or saved; empty for the embedded sandbox, which creates its own. */
  readonly key: string;
  readonly keySource: 'environment' | 'stored' | 'command' | 'sandbox';
  /** Where the key command is configured. */
  readonly commandFrom?: string;
  readonly urlSource: 'environment' | 'stored' | 'sandbox';
  /** Identifies the service, for rate limits and import locks: the base URL, or `sandbox:` and the data file. */
  readonly identity: string;
}

/** The known part of a target before its key command runs. */
export interface Credentials {
  readonly profile: string;
  readonly url?: string;
  readonly origin?: string;
  readonly urlSource?: Target['urlSource'];
  readonly key?: string;
  /** The command that prints the key, and where it is configured. */
  readonly command?: { readonly line: string; readonly from: string };
  readonly keySource?: Target['keySource'];
  /** The error of a command that uses these credentials. */
  readonly problem?: PetstoreError | undefined;
}

type FoundUrl = Required<Pick<Credentials, 'url' | 'origin' | 'urlSource'>>;
type FoundKey = Pick<Credentials, 'key' | 'command'> & Required<Pick<Credentials, 'keySource'>>;

const PROFILE_VARIABLE = 'PETSTORE_PROFILE';
const KEY_VARIABLE = 'PETSTORE_API_KEY';
const KEY_COMMAND_VARIABLE = 'PETSTORE_API_KEY_COMMAND';
const URL_VARIABLE = 'PETSTORE_BASE_URL';
const OVERRIDES: readonly string[] = [KEY_VARIABLE, KEY_COMMAND_VARIABLE, URL_VARIABLE];

interface CredentialSources {
  readonly env: Environment;
  /** The value of `--profile`. */
  readonly profile: string | undefined;
  /** Not called if the environment provides URL and key. */
  readonly store: () => Promise<ProfileStore>;
}

interface TargetSources extends CredentialSources {
  /** Called for the sandbox only. */
  readonly stateDir: () => string;
  /** Runs a key command and returns the key, unchecked. */
  readonly runKeyCommand: (commandLine: string, from: string) => Promise<string>;
}

/** @throws PetstoreError `usage` (unknown profile, invalid URL), `auth` (no key or URL, a key for another origin), `storage` */
export async function resolveTarget(sources: TargetSources): Promise<Target> {
  const { profile, url: baseUrl = '', urlSource, key = '', keySource, ...found } = await findCredentials(sources);
  // Both sources are known unless there is a problem.
  if (found.problem || !urlSource || !keySource) throw found.problem;
  const identity = keySource === 'sandbox' ? `sandbox:${sandboxDataFile(sources.stateDir())}` : baseUrl;
  const target = { profile, baseUrl, key, keySource, urlSource, identity };
  if (!found.command) return target;
  const { line, from } = found.command;
  const printed = checkKey(await sources.runKeyCommand(line, from), `the key command of ${from}`);
  return { ...target, key: printed, commandFrom: from };
}

const SANDBOX_CREDENTIALS: Credentials = { profile: SANDBOX, urlSource: 'sandbox', keySource: 'sandbox' };

/**
 * With `--profile`, the environment is ignored; otherwise it overrides the saved URL and the saved key independently.
 * @throws PetstoreError `usage` for an invalid profile name; other errors are returned as `problem`
 */
export async function findCredentials(sources: CredentialSources): Promise<Credentials> {
  const named = namedProfile(sources);
  if (named?.name === SANDBOX) return SANDBOX_CREDENTIALS;
  const typed = named !== undefined && named.from === undefined;
  const env = typed ? {} : sources.env;
  let profile = named?.name ?? FIRST_ACTIVE;
  let url: FoundUrl | undefined;
  let key: FoundKey | undefined;
  let problem: PetstoreError | undefined;
  try {
    const complete = environmentSuffices(env);
    if (!complete) profile = named?.name ?? (await sources.store()).active();
    const ownUrl = environmentUrl(env);
    url = ownUrl && { ...ownUrl, urlSource: 'environment' };
    key = environmentKey(env);
    if (profile === SANDBOX) return SANDBOX_CREDENTIALS;
    if (complete) {
      // A built-in name needs no check, which would load the store.
      if (!BUILT_IN.includes(profile)) checkExists(await sources.store(), profile, named?.from);
    } else {
      const stored = storedProfile(await sources.store(), profile, named?.from);
      url ??= storedUrl(profile, stored, { typed, hasOwnKey: key !== undefined });
      key ??= storedKey(profile, stored, url);
    }
  } catch (error) {
    if (!(error instanceof PetstoreError)) throw error;
    problem = error;
  }
  return { profile, ...url, ...key, problem };
}

interface NamedProfile {
  readonly name: string;
  /** The variable that names it; absent if it was typed. */
  readonly from?: string;
}

/**
 * The profile named by `--profile` or PETSTORE_PROFILE; an empty variable counts as unset.
 * @throws PetstoreError `usage` for an invalid name
 */
export function namedProfile(sources: Pick<CredentialSources, 'env' | 'profile'>): NamedProfile | undefined {
  if (sources.profile !== undefined) return { name: checkProfileName(sources.profile) };
  const name = sources.env[PROFILE_VARIABLE];
  return name ? { name: checkProfileName(name, PROFILE_VARIABLE), from: PROFILE_VARIABLE } : undefined;
}

/** The variables that override the saved settings if no profile is typed. */
export function overridingVariables(env: Environment, active: string): readonly string[] {
  const named = env[PROFILE_VARIABLE] || undefined;
  const profile = named !== undefined && named !== active ? [PROFILE_VARIABLE] : [];
  // The sandbox uses none of them; but if URL and key are both set, the active profile is not used at all.
  const sandbox = (named ?? active) === SANDBOX && (named !== undefined || !environmentSuffices(env));
  return sandbox ? profile : [...profile, ...definedOverrides(env)];
}

/** The variables that are set but overridden by `--profile`. */
export function definedOverrides(env: Environment): readonly string[] {
  return OVERRIDES.filter((name) => env[name] !== undefined);
}

/** The variable that overrides saved keys, if one is set. */
export function keyVariable(env: Environment): string | undefined {
  return [KEY_VARIABLE, KEY_COMMAND_VARIABLE].find((name) => env[name] !== undefined);
}

/** Whether the environment sets both URL and key, so that no profile is read. */
export function environmentSuffices(env: Environment): boolean {
  return env[URL_VARIABLE] !== undefined && keyVariable(env) !== undefined;
}

// An invalid key is an error: a saved key is never used in its place.
function environmentKey(env: Environment): FoundKey | undefined {
  const { [KEY_VARIABLE]: key, [KEY_COMMAND_VARIABLE]: line } = env;
  if (key !== undefined) return { key: checkKey(key, KEY_VARIABLE), keySource: 'environment' };
  return line === undefined ? undefined : { command: { line, from: KEY_COMMAND_VARIABLE }, keySource: 'command' };
}

/** @throws PetstoreError `usage` if PETSTORE_BASE_URL is set but invalid */
export function environmentUrl(env: Environment): BaseUrl | undefined {
  const url = env[URL_VARIABLE];
  return url === undefined ? undefined : checkBaseUrl(url, URL_VARIABLE);
}

/**
 * @returns undefined for a built-in profile without saved settings
 * @throws PetstoreError `usage` if there is no such profile
 */
export function storedProfile(store: ProfileStore, name: string, from?: string): StoredProfile | undefined {
  checkExists(store, name, from);
  return store.get(name);
}

/** Opens no file. @throws PetstoreError `usage` if there is no such profile */
export function checkExists(store: ProfileStore, name: string, from: string | undefined): void {
  const names = store.names();
  if (!names.includes(name)) throw unknownProfile(name, names, from);
}

function storedKey(name: string, stored: StoredProfile | undefined, { origin, urlSource }: FoundUrl): FoundKey {
  const from = `profile "${name}"`;
  const login = `run \`petstore auth login -p ${name}\``;
  if (!stored || !hasKey(stored)) {
    throw new PetstoreError('auth', `${from} has no API key`, {
      hint: urlSource === 'environment' ? `set ${KEY_VARIABLE}` : login,
    });
  }
  if (stored.origin !== origin) {
    throw new PetstoreError('auth', `the API key of ${from} is for ${stored.origin} and is not sent to ${origin}`, {
      hint: `set ${KEY_VARIABLE} to a key for ${origin}`,
    });
  }
  if (stored.keyCommand !== undefined) return { command: { line: stored.keyCommand, from }, keySource: 'command' };
  return { key: checkKey(stored.key, from, login), keySource: 'stored' };
}

function storedUrl(
  name: string,
  stored: StoredProfile | undefined,
  { typed, hasOwnKey }: { readonly typed: boolean; readonly hasOwnKey: boolean },
): FoundUrl {
  const login = `run \`petstore auth login -p ${name} --url https://HOST/v1\``;
  if (stored?.url === undefined) {
    // New users without an account see this error first.
    const other = typed || hasOwnKey ? '' : `; profile "${SANDBOX}" needs none`;
    throw new PetstoreError('auth', `profile "${name}" has no base URL${other}`, {
      hint: hasOwnKey ? `set ${URL_VARIABLE}` : login,
    });
  }
  const parsed = parseBaseUrl(stored.url);
  if ('url' in parsed) return { ...parsed, urlSource: 'stored' };
  throw new PetstoreError('auth', `the base URL of profile "${name}" ${parsed.problem}`, {
    hint: login,
  });
}
