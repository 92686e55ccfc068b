// A saved profile, and the rules for profile names.
import { PetstoreError } from '../../errors.ts';
import { closestMatch } from '../../text/did-you-mean.ts';
import { escapeControls } from '../../text/escape.ts';
import { looksLikeKey } from '../../text/redact.ts';

export interface StoredProfile {
  /** The base URL, as `parseBaseUrl` returns it. */
  readonly url?: string | undefined;
  readonly key?: string | undefined;
  /** The command that prints the key, if no key is saved. */
  readonly keyCommand?: string | undefined;
  /** The scheme, host and port that the key may be sent to. */
  readonly origin?: string | undefined;
}

export function hasKey(profile: StoredProfile | undefined): boolean {
  return profile?.key !== undefined || profile?.keyCommand !== undefined;
}

/** The built-in profile for which a command starts its own sandbox (docs/cli.md, commands). */
export const SANDBOX = 'sandbox';
/** The active profile until the user switches. */
export const DEFAULT_PROFILE = 'production';
export const BUILT_IN_PROFILES: readonly string[] = [DEFAULT_PROFILE, 'staging', SANDBOX];

export function isProfileName(name: string): boolean {
  return /^[a-z0-9][a-z0-9_-]{0,31}$/.test(name);
}

/** The hint for an API key that was typed where none belongs. */
export const PIPE_KEY = 'pipe the key to `petstore auth login`';

/**
 * @param source the environment variable that named the profile; undefined if it was typed
 * @throws PetstoreError `usage`
 */
export function checkProfileName(name: string, source?: string): string {
  if (looksLikeKey(name)) {
    // The message does not repeat the key.
    throw new PetstoreError('usage', `the profile name${suffix(source)} looks like an API key`, { hint: PIPE_KEY });
  }
  if (isProfileName(name)) return name;
  const hint = 'use 1 to 32 lowercase letters, digits, "-" or "_", starting with a letter or digit';
  // A longer text may be a key.
  const shown = name.length < 20 ? `"${escapeControls(name)}"` : `of ${name.length} characters`;
  throw new PetstoreError('usage', `invalid profile name ${shown}${suffix(source)}`, { hint });
}

/**
 * @param names the profiles that exist
 * @param hint by default, a similar name, or how to create a profile with this name
 * @throws PetstoreError `usage` that lists the profiles
 */
export function checkProfileExists(name: string, names: readonly string[], source?: string, hint?: string): void {
  if (names.includes(name)) return;
  const available = `available profiles: ${names.map((one) => `"${one}"`).join(', ')}`;
  const match = closestMatch(name, names);
  const message = `profile "${name}"${suffix(source)} does not exist; ${available}`;
  const typed = match
    ? `did you mean "${match}"?`
    : `run \`petstore auth login ${name} --url https://HOST/v1\` to create it`;
  throw new PetstoreError('usage', message, { hint: hint ?? typed });
}

function suffix(source: string | undefined): string {
  return source === undefined ? '' : ` from ${source}`;
}
