// Which base URL and API key a command uses (docs/cli.md, precedence).
import type { Environment } from '../environment.ts';
import { PetstoreError } from '../errors.ts';
import { checkKey } from './api-key.ts';
import { checkBaseUrl, parseBaseUrl } from './base-url.ts';
import { sandboxDataFile } from './paths.ts';
import type { ProfileStore, StoredProfile } from './store.ts';
import { BUILT_IN, checkProfileName, FIRST_ACTIVE, SANDBOX, unknownProfile } from './store.ts';

/** Where requests go, and with which key. */
export interface Target {
  readonly profile: string;
  /** Without trailing slash, ends in `/v1`; empty for the embedded sandbox. */
  readonly baseUrl: string;
  /** Never printed or stored; empty for the embedded sandbox, which creates its own. */
  readonly key: string;
  readonly keySource: 'environment' | 'stored' | 'command' | 'sandbox';
  readonly urlSource: 'environment' | 'stored' | 'sandbox';
  /** What the rate limit belongs to besides the key: the base URL, or `sandbox:` and the data file. */
  readonly identity: string;
}

const PROFILE_VARIABLE = 'PETSTORE_PROFILE';
const KEY_VARIABLE = 'PETSTORE_API_KEY';
const KEY_COMMAND_VARIABLE = 'PETSTORE_KEY_COMMAND';
const URL_VARIABLE = 'PETSTORE_BASE_URL';
const OVERRIDES: readonly string[] = [KEY_VARIABLE, KEY_COMMAND_VARIABLE, URL_VARIABLE];

/** The profile's name in output where the environment provides both URL and key. */
export const WITHOUT_PROFILE = FIRST_ACTIVE;

export interface Sources {
  readonly env: Environment;
  /** The value of `--profile`. */
  readonly profile: string | undefined;
  /** Not called where the environment provides URL and key. */
  readonly store: () => Promise<ProfileStore>;
  /** Called for the sandbox only. */
  readonly stateDir: () => string;
  /** Runs a key command and returns the key, unchecked. */
  readonly runKeyCommand: (commandLine: string, from: string) => Promise<string>;
}

/**
 * A typed profile is used whole; otherwise the environment overrides the stored URL and the stored key, each by itself.
 * @throws PetstoreError `usage` (unknown profile, invalid URL), `auth` (no key, no URL, a key for another origin), `storage`
 */
export async function resolveTarget(sources: Sources): Promise<Target> {
  const named = namedProfile(sources);
  if (named?.name === SANDBOX) return sandboxTarget(sources.stateDir());
  const typed = named !== undefined && named.from === undefined;
  const url = typed ? undefined : environmentUrl(sources.env);
  const hasKey = !typed && environmentHasKey(sources.env);
  if (hasKey) environmentKey(sources.env);
  if (url && hasKey) {
    // The name is checked without opening a file.
    if (named && !BUILT_IN.includes(named.name)) mustExist(await sources.store(), named);
    return target(named?.name ?? WITHOUT_PROFILE, url.url, 'environment', await keyOfEnvironment(sources));
  }
  const store = await sources.store();
  const { name, from } = named ?? { name: store.active() };
  if (name === SANDBOX) return sandboxTarget(sources.stateDir());
  const stored = storedProfile(store, name, from);
  const address = url ?? storedUrl(name, stored, typed);
  const urlSource = url ? 'environment' : 'stored';
  const key = hasKey ? await keyOfEnvironment(sources) : await storedKey(sources, name, stored, address.origin, typed);
  return target(name, address.url, urlSource, key);
}

export interface NamedProfile {
  readonly name: string;
  /** The variable that names it; absent where it was typed. */
  readonly from?: string;
}

/**
 * The profile named by `--profile` or PETSTORE_PROFILE; an empty variable counts as unset.
 * @throws PetstoreError `usage` for an invalid name
 */
export function namedProfile(sources: Pick<Sources, 'env' | 'profile'>): NamedProfile | undefined {
  if (sources.profile !== undefined) return { name: checkProfileName(sources.profile) };
  const name = sources.env[PROFILE_VARIABLE];
  return name ? { name: checkProfileName(name, PROFILE_VARIABLE), from: PROFILE_VARIABLE } : undefined;
}

/** The variables that override stored settings where no profile is typed. */
export function overridingVariables(env: Environment, active: string): readonly string[] {
  const named = env[PROFILE_VARIABLE] || undefined;
  const profile = named !== undefined && named !== active ? [PROFILE_VARIABLE] : [];
  const own = setOverrides(env);
  const complete = own.includes(URL_VARIABLE) && own.length > 1;
  // The sandbox uses none of them; but where URL and key are both set, the active profile is not used at all.
  const sandbox = (named ?? active) === SANDBOX && (named !== undefined || !complete);
  return sandbox ? profile : [...profile, ...own];
}

/** The variables that a typed profile ignores. */
export function setOverrides(env: Environment): readonly string[] {
  return OVERRIDES.filter((name) => env[name] !== undefined);
}

export function environmentHasKey(env: Environment): boolean {
  return env[KEY_VARIABLE] !== undefined || env[KEY_COMMAND_VARIABLE] !== undefined;
}

/**
 * PETSTORE_API_KEY, checked.
 * @throws PetstoreError `auth` where it is invalid: a stored key is never used in its place
 */
export function environmentKey(env: Environment): string | undefined {
  const key = env[KEY_VARIABLE];
  return key === undefined ? undefined : checkKey(key, KEY_VARIABLE);
}

type ResolvedKey = Pick<Target, 'key' | 'keySource'>;

async function keyOfEnvironment(sources: Sources): Promise<ResolvedKey> {
  const key = environmentKey(sources.env);
  if (key !== undefined) return { key, keySource: 'environment' };
  return keyOfCommand(sources, sources.env[KEY_COMMAND_VARIABLE] ?? '', KEY_COMMAND_VARIABLE);
}

async function keyOfCommand({ runKeyCommand }: Sources, commandLine: string, from: string): Promise<ResolvedKey> {
  const key = checkKey(await runKeyCommand(commandLine, from), `the key command of ${from}`);
  return { key, keySource: 'command' };
}

interface Address {
  readonly url: string;
  readonly origin: string;
}

/** @throws PetstoreError `usage` where PETSTORE_BASE_URL is set but invalid */
export function environmentUrl(env: Environment): Address | undefined {
  const url = env[URL_VARIABLE];
  return url === undefined ? undefined : checkBaseUrl(url, URL_VARIABLE);
}

/**
 * @returns undefined for a built-in profile without stored settings
 * @throws PetstoreError `usage` where there is no such profile
 */
export function storedProfile(store: ProfileStore, name: string, from?: string): StoredProfile | undefined {
  const stored = store.get(name);
  if (stored === undefined && !BUILT_IN.includes(name)) throw unknownProfile(name, store.names(), from);
  return stored;
}

function mustExist(store: ProfileStore, { name, from }: NamedProfile): void {
  const names = store.names();
  if (!names.includes(name)) throw unknownProfile(name, names, from);
}

async function storedKey(
  sources: Sources,
  name: string,
  stored: StoredProfile | undefined,
  origin: string,
  typed: boolean,
): Promise<ResolvedKey> {
  const from = `profile "${name}"`;
  if (stored?.key === undefined && stored?.keyCommand === undefined) {
    throw new PetstoreError('auth', `${from} has no API key`, {
      hint: `run \`petstore auth login -p ${name}\`${typed ? '' : `, or set ${KEY_VARIABLE}`}`,
    });
  }
  if (stored.origin !== origin) {
    throw new PetstoreError('auth', `the API key of ${from} is for ${stored.origin} and is not sent to ${origin}`, {
      hint: `set ${KEY_VARIABLE} for ${origin}, or run \`petstore auth login -p PROFILE --url ${origin}/v1\``,
    });
  }
  if (stored.keyCommand !== undefined) return keyOfCommand(sources, stored.keyCommand, from);
  return { key: checkKey(stored.key, from), keySource: 'stored' };
}

function storedUrl(name: string, stored: StoredProfile | undefined, typed: boolean): Address {
  const login = `run \`petstore auth login -p ${name} --url https://HOST/v1\``;
  if (stored?.url === undefined) {
    throw new PetstoreError('auth', `profile "${name}" has no base URL`, {
      hint: typed ? login : `${login}, or set ${URL_VARIABLE}; to try petstore without an account, add \`-p sandbox\``,
    });
  }
  const parsed = parseBaseUrl(stored.url);
  if ('url' in parsed) return parsed;
  throw new PetstoreError('auth', `the stored base URL of profile "${name}" is invalid: ${parsed.problem}`, {
    hint: login,
  });
}

function sandboxTarget(stateDir: string): Target {
  const identity = `sandbox:${sandboxDataFile(stateDir)}`;
  return { profile: SANDBOX, baseUrl: '', key: '', keySource: 'sandbox', urlSource: 'sandbox', identity };
}

function target(profile: string, baseUrl: string, urlSource: Target['urlSource'], key: ResolvedKey): Target {
  return { profile, baseUrl, urlSource, ...key, identity: baseUrl };
}
