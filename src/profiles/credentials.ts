// Finds the base URL and API key of a command (docs/cli.md, precedence).

import type { Environment } from '../context.ts';
import type { Hint } from '../errors.ts';
import { PetstoreError } from '../errors.ts';
import type { ProfileStore } from './conf-store.ts';
import type { BaseUrl } from './credential-rules.ts';
import { checkBaseUrl, checkKey, parseBaseUrl } from './credential-rules.ts';
import type { KeyCommandContext } from './key-command.ts';
import type { PathContext } from './paths.ts';
import { sandboxDataFile, stateDir } from './paths.ts';
import type { StoredProfile } from './store.ts';
import { BUILT_IN, checkExists, checkProfileName, FIRST_ACTIVE, hasKey, SANDBOX } from './store.ts';

type UrlSource = 'environment' | 'stored' | 'sandbox';
type KeySource = 'environment' | 'stored' | 'command' | 'sandbox';

/** Base URL and API key of a command. For the embedded sandbox the base URL is `sandbox:` and the data file. */
export interface Credentials {
  readonly profile: string;
  /** Ends in `/v1`, without a trailing slash. */
  readonly baseUrl: string;
  readonly urlSource: UrlSource;
  /** Never printed or saved; empty for the embedded sandbox, which creates its own. */
  readonly key: string;
  readonly keySource: KeySource;
  readonly keyCommand?: KeyCommand | undefined;
}

/** The command that prints the key, and what has it: a profile or a variable. */
interface KeyCommand {
  readonly line: string;
  readonly source: string;
}

/** The profile of a command, with everything that its URL and key may come from. */
export interface SelectedProfile {
  readonly profile: string;
  /** Empty if the profile was named by `--profile`, which overrides the environment. */
  readonly env: Environment;
  /** Not read if the environment provides URL and key. */
  readonly stored?: StoredProfile | undefined;
}

/** The sandbox has no URL. */
export interface FoundUrl extends Partial<BaseUrl> {
  readonly urlSource: UrlSource;
}

/** Without a key for the sandbox, and if a key command prints it. */
export interface FoundKey {
  readonly key?: string;
  readonly keySource: KeySource;
  readonly keyCommand?: KeyCommand;
}

const PROFILE_VARIABLE = 'PETSTORE_PROFILE';
const KEY_VARIABLE = 'PETSTORE_API_KEY';
const KEY_COMMAND_VARIABLE = 'PETSTORE_API_KEY_COMMAND';
const URL_VARIABLE = 'PETSTORE_BASE_URL';
const OVERRIDES: readonly string[] = [KEY_VARIABLE, KEY_COMMAND_VARIABLE, URL_VARIABLE];

/** Not called if the environment provides URL and key. */
type OpenStore = () => Promise<ProfileStore>;

/** @throws PetstoreError `usage` (unknown profile, invalid URL), `auth` (no key or URL, a key for another origin), `storage` */
export async function resolveCredentials(
  context: KeyCommandContext & PathContext,
  profileOption: string | undefined,
  openStore: OpenStore,
): Promise<Credentials> {
  const selected = await selectProfile(context.env, profileOption, openStore);
  const { profile } = selected;
  const found = findUrl(selected);
  const { url: baseUrl = `sandbox:${sandboxDataFile(stateDir(context))}`, urlSource } = found;
  const { key = '', keySource, keyCommand } = findKey(selected, found);
  if (!keyCommand) return { profile, baseUrl, urlSource, key, keySource };
  const { runKeyCommand } = await import('./key-command.ts');
  const printed = await runKeyCommand(keyCommand.line, keyCommand.source, context);
  return { profile, baseUrl, urlSource, key: printed, keySource, keyCommand };
}

/**
 * @param profileOption the value of `--profile`
 * @throws PetstoreError `usage` for an invalid or unknown profile, `storage`
 */
export async function selectProfile(
  environment: Environment,
  profileOption: string | undefined,
  openStore: OpenStore,
): Promise<SelectedProfile> {
  const profile = await usedProfile(environment, profileOption, openStore);
  const env = profileOption === undefined ? environment : {};
  // A sandbox that was named ignores the environment, too.
  if (profile === SANDBOX) return { profile, env: requestedProfile(env, profileOption) ? {} : env };
  return { profile, env, stored: environmentSuffices(env) ? undefined : (await openStore()).get(profile) };
}

/** The profile of a command; throws as `selectProfile` does. */
export async function usedProfile(env: Environment, profileOption: string | undefined, openStore: OpenStore) {
  const requested = requestedProfile(env, profileOption);
  const isComplete = profileOption === undefined && environmentSuffices(env);
  const profile = requested?.name ?? (isComplete ? FIRST_ACTIVE : (await openStore()).active());
  // The existence of a built-in profile needs no check, which would load the store.
  if (!BUILT_IN.includes(profile)) checkExists(profile, (await openStore()).names(), requested?.source);
  return profile;
}

/**
 * The profile named by `--profile` or PETSTORE_PROFILE, and the variable unless the option was used; an empty one counts as
 * unset.
 * @throws PetstoreError `usage` for an invalid name
 */
export function requestedProfile(env: Environment, profileOption: string | undefined) {
  const source = profileOption === undefined ? PROFILE_VARIABLE : undefined;
  const name = profileOption ?? (env[PROFILE_VARIABLE] || undefined);
  return name === undefined ? undefined : { name: checkProfileName(name, source), source };
}

/** The variables that override the active profile; the sandbox uses neither a key nor a URL alone. */
export function overridingVariables(env: Environment, active: string): readonly string[] {
  const named = env[PROFILE_VARIABLE] ? [PROFILE_VARIABLE] : [];
  return active === SANDBOX && !environmentSuffices(env) ? named : [...named, ...definedOverrides(env)];
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

/** @throws PetstoreError `usage` if PETSTORE_BASE_URL is set but invalid */
export function environmentUrl(env: Environment): BaseUrl | undefined {
  const url = env[URL_VARIABLE];
  return url === undefined ? undefined : checkBaseUrl(url, URL_VARIABLE);
}

/** @throws PetstoreError `usage` if PETSTORE_BASE_URL is invalid, `auth` if there is no URL */
export function findUrl({ profile, env, stored }: SelectedProfile): FoundUrl {
  const own = environmentUrl(env);
  // The active sandbox does not use the URL of the environment, but an invalid one is an error.
  if (profile === SANDBOX) return { urlSource: 'sandbox' };
  if (own) return { ...own, urlSource: 'environment' };
  const parsed = parseBaseUrl(stored?.url);
  if ('url' in parsed) return { ...parsed, urlSource: 'stored' };
  const login = loginHint(profile, true);
  if (stored?.url !== undefined) {
    throw new PetstoreError('auth', `the base URL of profile "${profile}" ${parsed.problem}`, login);
  }
  const hint = keyVariable(env) === undefined ? login : { hint: `set ${URL_VARIABLE}` };
  throw new PetstoreError('auth', `profile "${profile}" has no base URL`, hint);
}

/** @throws PetstoreError `auth` if there is no valid key for the URL */
export function findKey({ profile, env, stored }: SelectedProfile, { origin, urlSource }: FoundUrl): FoundKey {
  const own = environmentKey(env);
  if (profile === SANDBOX) return { keySource: 'sandbox' };
  if (own) return own;
  const source = `profile "${profile}"`;
  const hint =
    urlSource === 'environment' ? { hint: `set ${KEY_VARIABLE} to a key for ${origin}` } : loginHint(profile);
  if (!stored || !hasKey(stored)) throw new PetstoreError('auth', `${source} has no API key`, hint);
  if (stored.origin !== origin) {
    const itsHost = stored.origin ?? 'an unknown host';
    const message = `the API key of ${source} is for ${itsHost} and is not sent to ${origin}`;
    throw new PetstoreError('auth', message, hint);
  }
  if (stored.keyCommand !== undefined) {
    const keyCommand = { line: stored.keyCommand, source: `the key command from ${source}` };
    return { keyCommand, keySource: 'command' };
  }
  return { key: checkKey(stored.key, source, loginHint(profile)), keySource: 'stored' };
}

// An invalid key is an error: a saved key is never used in its place.
function environmentKey(env: Environment): FoundKey | undefined {
  const { [KEY_VARIABLE]: key, [KEY_COMMAND_VARIABLE]: line } = env;
  const hint = `set ${KEY_VARIABLE} to the key without spaces or line breaks`;
  if (key !== undefined) return { key: checkKey(key, KEY_VARIABLE, { hint }), keySource: 'environment' };
  if (line === undefined) return undefined;
  return { keyCommand: { line, source: KEY_COMMAND_VARIABLE }, keySource: 'command' };
}

/** How to save a key, and a URL where there is none. */
export function loginHint(profile: string, withUrl = false): Hint {
  const command = ['auth', 'login', '-p', profile];
  if (!withUrl) return { hint: 'save a valid key', command };
  return { hint: 'save a base URL and a key', command: [...command, '--url', 'https://HOST/v1'] };
}
