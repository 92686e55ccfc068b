// Which URL and which key a command uses: option, then environment, then what the profile stores, bound to its origin.

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
  /** Never shown, logged or written; empty for the embedded sandbox, which says its own when it starts. */
  readonly key: string;
  readonly keySource: 'environment' | 'stored' | 'sandbox';
  readonly urlSource: 'environment' | 'stored' | 'sandbox';
  /** What the ledger is keyed by besides the key: the base URL, or `sandbox:` and the data file. */
  readonly identity: string;
}

const VARIABLE = 'PETSTORE_PROFILE';

/** What a command calls its profile where key and URL of the environment serve and no profile is asked for. */
export const WITHOUT_PROFILE = FIRST_ACTIVE;

/** What `resolveTarget` works with. */
export interface Sources {
  readonly env: Environment;
  /** What `--profile` says. */
  readonly profile: string | undefined;
  /** Opens the stored profiles; not called where they are not needed. */
  readonly store: () => Promise<ProfileStore>;
  /** The state folder, for the sandbox's data; not called for other profiles. */
  readonly stateDir: () => string;
}

/**
 * Resolves where to send and with which key (contract, sections 2 and 4).
 * @param sources environment, named profile, stored profiles
 * @returns the target; with key and URL in the environment the stored profiles are not opened
 * @throws PetstoreError `usage` (unknown profile, bad URL), `auth` (no key, no URL, a key for another origin), `storage`
 */
export async function resolveTarget(sources: Sources): Promise<Target> {
  const named = namedProfile(sources);
  // Whoever names the sandbox means it, whatever addresses the environment holds.
  if (named?.name === SANDBOX) return sandboxTarget(sources.stateDir());
  const key = environmentKey(sources.env);
  const url = environmentUrl(sources.env);
  if (key !== undefined && url !== undefined) {
    // Looked for by its file's name alone: with key and URL in the environment no file is opened.
    if (named && !BUILT_IN.includes(named.name)) mustExist(await sources.store(), named);
    return target(named?.name ?? WITHOUT_PROFILE, url.url, key, 'environment', 'environment');
  }
  const store = await sources.store();
  const { name, from: origin } = named ?? { name: store.active() };
  if (name === SANDBOX) return sandboxTarget(sources.stateDir());
  const stored = storedProfile(store, name, origin);
  const from = url ?? storedUrl(name, stored);
  const urlSource = url ? 'environment' : 'stored';
  if (key !== undefined) return target(name, from.url, key, 'environment', urlSource);
  return target(name, from.url, storedKey(name, stored, from.origin), 'stored', urlSource);
}

/** A profile that was asked for. */
export interface NamedProfile {
  readonly name: string;
  /** The variable that names it; left out where an option does. */
  readonly from?: string;
}

/**
 * @param sources of which `profile` and the environment are read
 * @returns the profile that option or environment names, if any; an empty variable counts as unset
 * @throws PetstoreError `usage` where the name breaks the rule
 */
export function namedProfile(sources: Pick<Sources, 'env' | 'profile'>): NamedProfile | undefined {
  if (sources.profile !== undefined) return { name: checkProfileName(sources.profile) };
  const name = sources.env[VARIABLE];
  return name ? { name: checkProfileName(name, VARIABLE), from: VARIABLE } : undefined;
}

/**
 * Which variables of the environment go before what a profile is or stores, where a command names none (see
 * `resolveTarget`, which holds the rule).
 * @param env the environment
 * @param active the profile that was made the active one
 * @returns their names; empty where such a command uses that profile and what it stores
 */
export function overridingVariables(env: Environment, active: string): readonly string[] {
  // An empty one counts as unset.
  const named = env[VARIABLE] || undefined;
  const other = named !== undefined && named !== active ? [VARIABLE] : [];
  const own = ['PETSTORE_API_KEY', 'PETSTORE_BASE_URL'].filter((name) => env[name] !== undefined);
  // The sandbox heeds neither, but where both are there nobody asks which profile is active.
  const used = named ?? active;
  return used === SANDBOX && (named !== undefined || own.length < 2) ? other : [...other, ...own];
}

/**
 * @param env the environment
 * @returns PETSTORE_API_KEY, checked
 * @throws PetstoreError `auth` where it is set but empty or malformed: a stored key is never used instead
 */
export function environmentKey(env: Environment): string | undefined {
  const key = env['PETSTORE_API_KEY'];
  return key === undefined ? undefined : checkKey(key, 'PETSTORE_API_KEY');
}

/**
 * @param env the environment
 * @returns PETSTORE_BASE_URL, checked, with its origin
 * @throws PetstoreError `usage` where it is set but cannot be used
 */
export function environmentUrl(env: Environment): { readonly url: string; readonly origin: string } | undefined {
  const url = env['PETSTORE_BASE_URL'];
  return url === undefined ? undefined : checkBaseUrl(url, 'PETSTORE_BASE_URL');
}

/**
 * @param store the stored profiles
 * @param name a profile's name
 * @param from the variable that names it, if one does
 * @returns what is stored for it; undefined for a built-in profile nobody logged in to
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

/**
 * The stored key, if it may go to an origin (contract, section 4).
 * @param name the profile's name
 * @param stored what is stored for it
 * @param origin where the key would be sent
 * @returns the key
 * @throws PetstoreError `auth` where there is none, or it was stored for another origin
 */
function storedKey(name: string, stored: StoredProfile | undefined, origin: string): string {
  if (stored?.key === undefined) {
    throw new PetstoreError('auth', `there is no API key for the profile ${name}`, {
      hint: `petstore auth login -p ${name}, or set PETSTORE_API_KEY`,
    });
  }
  if (stored.origin !== origin) {
    const bound = stored.origin ?? 'no address';
    throw new PetstoreError('auth', `the key of the profile ${name} is for ${bound} and is not sent to ${origin}`, {
      hint: `set PETSTORE_API_KEY for ${origin}, or log in to it: petstore auth login -p PROFILE --url ${origin}/v1`,
    });
  }
  return checkKey(stored.key, `the profile ${name}`);
}

function storedUrl(name: string, stored: StoredProfile | undefined): { readonly url: string; readonly origin: string } {
  if (stored?.url === undefined) {
    throw new PetstoreError('auth', `the profile ${name} has no URL`, {
      hint: `petstore auth login -p ${name} --url https://HOST/v1, or set PETSTORE_BASE_URL; or try it out with -p sandbox`,
    });
  }
  const parsed = parseBaseUrl(stored.url);
  if ('url' in parsed) return parsed;
  throw new PetstoreError('auth', `the stored URL of the profile ${name} cannot be used: ${parsed.problem}`, {
    hint: `store a good one: petstore auth login -p ${name} --url https://HOST/v1`,
  });
}

/**
 * @param stateDir the state folder
 * @returns the target of the built-in profile `sandbox`, whose data is below that folder
 */
function sandboxTarget(stateDir: string): Target {
  return {
    profile: SANDBOX,
    baseUrl: '',
    key: '',
    keySource: 'sandbox',
    urlSource: 'sandbox',
    identity: `sandbox:${sandboxDataFile(stateDir)}`,
  };
}

function target(
  profile: string,
  baseUrl: string,
  key: string,
  keySource: Target['keySource'],
  urlSource: Target['urlSource'],
): Target {
  return { profile, baseUrl, key, keySource, urlSource, identity: baseUrl };
}
