// Finds the base URL and API key of a command (docs/cli.md, precedence): reads the request, selects the profile, and takes
// each value from the environment or from the profile.
import { PetstoreError } from '../../errors.ts';
import type { BaseUrl } from '../../settings/credential-rules.ts';
import { checkBaseUrl, checkKey, parseBaseUrl } from '../../settings/credential-rules.ts';
import { realPath, sandboxDataFile, stateDir } from '../../settings/paths.ts';
import type { Context, Environment } from '../context.ts';
import type { ProfileStore } from './conf-store.ts';
import type { KeyCommand } from './key-command.ts';
import type { StoredProfile } from './store.ts';
import { checkProfileExists, checkProfileName, DEFAULT_PROFILE, hasKey, SANDBOX } from './store.ts';

/** The base URL of a command; the sandbox has none. */
export interface FoundUrl extends Partial<BaseUrl> {
  readonly urlSource: 'environment' | 'stored' | 'sandbox';
}

/** The API key of a command, or the key command that prints it; neither for the sandbox. */
export interface FoundKey {
  readonly key?: string;
  readonly keySource: 'environment' | 'stored' | 'command' | 'sandbox';
  readonly keyCommand?: KeyCommand;
}

/** Base URL and API key of a command. For the embedded sandbox, the base URL is `sandbox:` and the path of its data files. */
export interface Credentials extends FoundKey, Pick<FoundUrl, 'urlSource'> {
  readonly profile: string;
  /** Ends in `/v1`, without a trailing slash, except for the embedded sandbox. */
  readonly baseUrl: string;
  /** Never printed or saved; empty for the embedded sandbox, which creates its own. */
  readonly key: string;
}

/** The profile whose own URL is used; undefined if the URL comes from the environment. */
export function usedProfileName({ urlSource, profile }: Credentials): string | undefined {
  return urlSource === 'environment' ? undefined : profile;
}

const PROFILE_VARIABLE = 'PETSTORE_PROFILE';
const URL_VARIABLE = 'PETSTORE_BASE_URL';
const KEY_VARIABLE = 'PETSTORE_API_KEY';
const KEY_COMMAND_VARIABLE = 'PETSTORE_API_KEY_COMMAND';

/** The request of the command line and the environment: a profile, and values that override its saved values. */
export interface CredentialRequest {
  /** The profile named by `--profile` or PETSTORE_PROFILE; its name may be invalid. */
  readonly profile?: string | undefined;
  /** PETSTORE_PROFILE, if it named the profile. */
  readonly profileVariable?: string | undefined;
  readonly url?: string | undefined;
  readonly key?: string | undefined;
  readonly keyCommand?: string | undefined;
}

/** @param profileOption the value of `--profile`, which overrides all variables */
export function readCredentialRequest(env: Environment, profileOption: string | undefined): CredentialRequest {
  if (profileOption !== undefined) return { profile: profileOption };
  // An empty name counts as unset.
  const profile = env[PROFILE_VARIABLE] || undefined;
  return {
    profile,
    profileVariable: profile && PROFILE_VARIABLE,
    url: env[URL_VARIABLE],
    key: env[KEY_VARIABLE],
    keyCommand: env[KEY_COMMAND_VARIABLE],
  };
}

/** The variable that overrides saved keys, if one is set. */
export function keyVariable({ key, keyCommand }: CredentialRequest): string | undefined {
  if (key !== undefined) return KEY_VARIABLE;
  return keyCommand === undefined ? undefined : KEY_COMMAND_VARIABLE;
}

/** Whether both URL and key are overridden, so that no profile is read. */
export function overridesAll(request: CredentialRequest): boolean {
  return request.url !== undefined && keyVariable(request) !== undefined;
}

/** The variables that are set and override the values of a profile, unless `--profile` is used. */
export function definedOverrides(env: Environment): readonly string[] {
  return [KEY_VARIABLE, KEY_COMMAND_VARIABLE, URL_VARIABLE].filter((name) => env[name] !== undefined);
}

/** The variables that are set and override the active profile or its values. */
export function overridingVariables(env: Environment): readonly string[] {
  return [...(env[PROFILE_VARIABLE] ? [PROFILE_VARIABLE] : []), ...definedOverrides(env)];
}

/** @throws PetstoreError `usage` (unknown profile, invalid URL), `auth` (no key or URL, a key for another origin), `storage` */
export async function resolveCredentials(
  context: Context,
  request: CredentialRequest,
  openStore: () => Promise<ProfileStore>,
): Promise<Credentials> {
  const selected = await selectProfile(request, openStore);
  const { profile } = selected;
  const found = findUrl(selected);
  const { url: baseUrl = `sandbox:${realPath(sandboxDataFile(stateDir(context)))}`, urlSource } = found;
  const foundKey = findKey(selected, found);
  const { keyCommand } = foundKey;
  const printed = keyCommand && (await (await import('./key-command.ts')).runKeyCommand(keyCommand, context));
  return { profile, baseUrl, urlSource, ...foundKey, key: printed ?? foundKey.key ?? '' };
}

/** The profile of a command, with the sources of its URL and key. */
export interface SelectedProfile {
  readonly profile: string;
  readonly request: CredentialRequest;
  /** The saved values of the profile. */
  readonly stored?: StoredProfile | undefined;
}

/**
 * @param openStore not called if nothing in the file of profiles is used
 * @throws PetstoreError `usage` for an invalid or unknown profile, `storage`
 */
export async function selectProfile(
  request: CredentialRequest,
  openStore: () => Promise<ProfileStore>,
): Promise<SelectedProfile> {
  const named = requestedProfile(request);
  if (overridesAll(request) || named === SANDBOX) return { profile: named ?? DEFAULT_PROFILE, request };
  const store = await openStore();
  const profile = named ?? store.active();
  // The active profile was not mistyped: of two logins in the same instant, one may be lost.
  const hint = named === undefined ? 'run `petstore auth switch PROFILE` to choose the active profile' : undefined;
  checkProfileExists(profile, store.names(), request.profileVariable, hint);
  return { profile, request, stored: store.get(profile) };
}

/** The profile that was named. @throws PetstoreError `usage` for an invalid name */
export function requestedProfile({ profile, profileVariable }: CredentialRequest): string | undefined {
  return profile === undefined ? undefined : checkProfileName(profile, profileVariable);
}

/** @throws PetstoreError `usage` if PETSTORE_BASE_URL is set but invalid */
export function overridingUrl({ url }: CredentialRequest): BaseUrl | undefined {
  return url === undefined ? undefined : checkBaseUrl(url, URL_VARIABLE);
}

/** @throws PetstoreError `usage` if PETSTORE_BASE_URL is invalid, `auth` if there is no URL */
export function findUrl({ profile, request, stored }: SelectedProfile): FoundUrl {
  const own = overridingUrl(request);
  if (own) return { ...own, urlSource: 'environment' };
  const variable = keyVariable(request);
  // The key of the environment is for a service, so it is never ignored in favor of the sandbox.
  if (profile === SANDBOX && variable === undefined) return { urlSource: 'sandbox' };
  const parsed = parseBaseUrl(stored?.url);
  if ('url' in parsed) return { ...parsed, urlSource: 'stored' };
  const login = loginHint(profile, true);
  if (stored?.url !== undefined) {
    throw new PetstoreError('auth', `the base URL of profile "${profile}" ${parsed.problem}`, { hint: login });
  }
  if (variable === undefined) {
    const hint = request.profile === undefined ? `${login}, or add -p sandbox, which needs no account` : login;
    throw new PetstoreError('auth', `profile "${profile}" has no base URL`, { hint });
  }
  const message = `profile "${profile}" has no base URL for ${variable}`;
  throw new PetstoreError('auth', message, { hint: `set ${URL_VARIABLE}` });
}

/** @throws PetstoreError `auth` if there is no valid key for the URL */
export function findKey({ profile, request, stored }: SelectedProfile, { origin, urlSource }: FoundUrl): FoundKey {
  const own = overridingKey(request);
  if (own) return own;
  if (urlSource === 'sandbox') return { keySource: 'sandbox' };
  const source = `profile "${profile}"`;
  const login = loginHint(profile);
  const isOverridden = urlSource === 'environment';
  const hint = isOverridden ? `set ${KEY_VARIABLE} to a key for ${origin}` : login;
  if (!stored || !hasKey(stored)) {
    const forHost = isOverridden ? ` for the host in ${URL_VARIABLE}` : '';
    throw new PetstoreError('auth', `${source} has no API key${forHost}`, { hint });
  }
  if (stored.origin !== origin) {
    const itsHost = stored.origin ?? 'an unknown host';
    const message = `the API key of ${source} is for ${itsHost} and is not sent to ${origin}`;
    throw new PetstoreError('auth', message, { hint });
  }
  if (stored.keyCommand !== undefined) {
    const keyCommand = { line: stored.keyCommand, source: `the key command from ${source}`, profile };
    return { keyCommand, keySource: 'command' };
  }
  return { key: checkKey(stored.key, source, login), keySource: 'stored' };
}

// An invalid key is an error: a saved key is never used in its place.
function overridingKey({ key, keyCommand: line }: CredentialRequest): FoundKey | undefined {
  const hint = `set ${KEY_VARIABLE} to a valid key`;
  if (key !== undefined) return { key: checkKey(key, KEY_VARIABLE, hint), keySource: 'environment' };
  if (line === undefined) return undefined;
  return { keyCommand: { line, source: KEY_COMMAND_VARIABLE }, keySource: 'command' };
}

/** The hint to save a key, or a base URL and a key. */
export function loginHint(profile: string, withUrl = false): string {
  const login = `petstore auth login ${profile}`;
  return withUrl
    ? `run \`${login} --url https://HOST/v1\` to save a base URL and a key`
    : `run \`${login}\` to save a valid key`;
}
