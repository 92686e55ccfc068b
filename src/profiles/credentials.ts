// Finds the base URL and API key of a command (docs/cli.md, precedence).

import type { Environment } from '../context.ts';
import { PetstoreError } from '../errors.ts';
import type { ProfileStore } from './conf-store.ts';
import type { BaseUrl } from './credential-rules.ts';
import { checkBaseUrl, checkKey, parseBaseUrl } from './credential-rules.ts';
import type { KeyCommandContext } from './key-command.ts';
import type { PathContext } from './paths.ts';
import { sandboxDataFile, stateDir } from './paths.ts';
import type { StoredProfile } from './store.ts';
import { BUILT_IN, checkExists, checkProfileName, FIRST_ACTIVE, hasKey, SANDBOX } from './store.ts';

/** Base URL and API key of a command, as far as they are known before a key command runs. */
export interface Credentials {
  readonly profile: string;
  /** Ends in `/v1`, without a trailing slash. */
  readonly baseUrl?: string;
  readonly urlSource?: 'environment' | 'stored' | 'sandbox';
  /** Never printed or saved; empty for the embedded sandbox, which creates its own. */
  readonly key?: string;
  readonly keySource?: 'environment' | 'stored' | 'command' | 'sandbox';
  /** The command that prints the key, and where it is configured. */
  readonly keyCommand?: { readonly line: string; readonly from: string };
  /** The error of a command that uses these credentials. */
  readonly problem?: PetstoreError;
}

/** Complete credentials. For the embedded sandbox the base URL is `sandbox:` and the data file. */
export type Target = Required<Omit<Credentials, 'keyCommand' | 'problem'>> & Pick<Credentials, 'keyCommand'>;

const PROFILE_VARIABLE = 'PETSTORE_PROFILE';
const KEY_VARIABLE = 'PETSTORE_API_KEY';
const KEY_COMMAND_VARIABLE = 'PETSTORE_API_KEY_COMMAND';
const URL_VARIABLE = 'PETSTORE_BASE_URL';
const OVERRIDES: readonly string[] = [KEY_VARIABLE, KEY_COMMAND_VARIABLE, URL_VARIABLE];

/** Not called if the environment provides URL and key. */
type OpenStore = () => Promise<ProfileStore>;

/** @throws PetstoreError `usage` (unknown profile, invalid URL), `auth` (no key or URL, a key for another origin), `storage` */
export async function resolveTarget(
  context: KeyCommandContext & PathContext,
  profile: string | undefined,
  openStore: OpenStore,
): Promise<Target> {
  const { problem, ...found } = await findCredentials(context.env, profile, openStore);
  if (problem) throw problem;
  const { baseUrl = `sandbox:${sandboxDataFile(stateDir(context))}`, keyCommand } = found;
  const { urlSource = 'sandbox', keySource = 'sandbox' } = found;
  let { key = '' } = found;
  if (keyCommand) {
    const { runKeyCommand } = await import('./key-command.ts');
    key = await runKeyCommand(keyCommand.line, keyCommand.from, context);
  }
  return { ...found, baseUrl, urlSource, key, keySource };
}

const SANDBOX_CREDENTIALS = { profile: SANDBOX, urlSource: 'sandbox', keySource: 'sandbox' } as const;

/**
 * With `--profile`, the environment is ignored; otherwise it overrides the saved URL and the saved key independently.
 * @param typed the value of `--profile`
 * @throws PetstoreError `usage` for an invalid profile name; other errors are returned as `problem`
 */
export async function findCredentials(
  environment: Environment,
  typed: string | undefined,
  openStore: OpenStore,
): Promise<Credentials> {
  const named = namedProfile(environment, typed);
  if (named?.name === SANDBOX) return SANDBOX_CREDENTIALS;
  const env = typed === undefined ? environment : {};
  let found: Credentials = { profile: named?.name ?? FIRST_ACTIVE };
  try {
    const isComplete = environmentSuffices(env);
    if (!named && !isComplete) found = { profile: (await openStore()).active() };
    const { profile } = found;
    if (profile === SANDBOX) {
      // The active sandbox uses neither URL nor key, but invalid ones are not passed over.
      environmentUrl(env);
      environmentKey(env);
      return SANDBOX_CREDENTIALS;
    }
    // The existence of a built-in profile needs no check, which would load the store.
    const store = isComplete && BUILT_IN.includes(profile) ? undefined : await openStore();
    if (store) checkExists(profile, store.names(), named?.from);
    const stored = isComplete ? undefined : store?.get(profile);
    const { origin, ...url } = findUrl(env, profile, stored, typed !== undefined);
    found = { ...found, ...url };
    return { ...found, ...(environmentKey(env) ?? storedKey(profile, stored, origin, url.urlSource)) };
  } catch (problem) {
    if (!(problem instanceof PetstoreError)) throw problem;
    return { ...found, problem };
  }
}

/**
 * The profile named by `--profile` or PETSTORE_PROFILE, and the variable unless it was typed; an empty one counts as unset.
 * @throws PetstoreError `usage` for an invalid name
 */
export function namedProfile(env: Environment, typed: string | undefined) {
  const from = typed === undefined ? PROFILE_VARIABLE : undefined;
  const name = typed ?? (env[PROFILE_VARIABLE] || undefined);
  return name === undefined ? undefined : { name: checkProfileName(name, from), from };
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

function findUrl(env: Environment, name: string, stored: StoredProfile | undefined, isTyped: boolean) {
  const own = environmentUrl(env);
  if (own) return { baseUrl: own.url, origin: own.origin, urlSource: 'environment' } as const;
  const parsed = parseBaseUrl(stored?.url);
  if ('url' in parsed) return { baseUrl: parsed.url, origin: parsed.origin, urlSource: 'stored' } as const;
  const from = `profile "${name}"`;
  const login = `run \`petstore auth login -p ${name} --url https://HOST/v1\``;
  if (stored?.url !== undefined) {
    throw new PetstoreError('auth', `the base URL of ${from} ${parsed.problem}`, { hint: login });
  }
  // New users without an account see this error first.
  const other = isTyped ? '' : `, or add \`-p ${SANDBOX}\` to try petstore without an account`;
  const hint = keyVariable(env) === undefined ? `${login}${other}` : `set ${URL_VARIABLE}`;
  throw new PetstoreError('auth', `${from} has no base URL`, { hint });
}

type FoundKey = Pick<Credentials, 'key' | 'keySource' | 'keyCommand'>;

// An invalid key is an error: a saved key is never used in its place.
function environmentKey(env: Environment): FoundKey | undefined {
  const { [KEY_VARIABLE]: key, [KEY_COMMAND_VARIABLE]: line } = env;
  const hint = `set ${KEY_VARIABLE} to the key without spaces or line breaks`;
  if (key !== undefined) return { key: checkKey(key, KEY_VARIABLE, hint), keySource: 'environment' };
  return line === undefined ? undefined : { keyCommand: { line, from: KEY_COMMAND_VARIABLE }, keySource: 'command' };
}

function storedKey(
  name: string,
  stored: StoredProfile | undefined,
  origin: string,
  urlSource: Credentials['urlSource'],
): FoundKey {
  const from = `profile "${name}"`;
  const login = `run \`petstore auth login -p ${name}\``;
  const set = `set ${KEY_VARIABLE}`;
  if (!stored || !hasKey(stored)) {
    const hint = urlSource === 'environment' ? set : login;
    throw new PetstoreError('auth', `${from} has no API key`, { hint });
  }
  if (stored.origin !== origin) {
    const itsHost = stored.origin ?? 'an unknown host';
    throw new PetstoreError('auth', `the API key of ${from} is for ${itsHost} and is not sent to ${origin}`, {
      hint: `${set} to a key for ${origin}`,
    });
  }
  if (stored.keyCommand !== undefined) return { keyCommand: { line: stored.keyCommand, from }, keySource: 'command' };
  return { key: checkKey(stored.key, from, login), keySource: 'stored' };
}
