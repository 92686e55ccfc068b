// What a profile is, what a store of profiles does, and how profiles may be named.

import { closestMatch } from '../did-you-mean.ts';
import { PetstoreError } from '../errors.ts';
import { escapeControls } from '../escape.ts';
import { looksLikeKey } from '../redact.ts';

/** A profile as it is stored. */
export interface StoredProfile {
  readonly name: string;
  /** The base URL, as `parseBaseUrl` gives it. */
  readonly url?: string;
  readonly key?: string;
  /** The origin (scheme, host, port) the key was stored with; it goes nowhere else. */
  readonly origin?: string;
}

/** Keeps profiles. Every function throws PetstoreError `storage` where a file cannot be read or written. */
export interface ProfileStore {
  /** @returns the names of all profiles, the built-in ones first, without reading any */
  names(): readonly string[];
  /** @returns every profile that is stored; built-in ones only where something was stored for them */
  list(): readonly StoredProfile[];
  /** @returns what is stored under that name */
  get(name: string): StoredProfile | undefined;
  /** Stores a profile whole, whatever was there before. */
  save(profile: StoredProfile): Promise<void>;
  /** Forgets a profile's key and keeps its URL. @returns whether there was a key */
  forgetKey(name: string): Promise<boolean>;
  /** Removes every profile and what interrupted writes left, damaged or not. @returns whose file had a key, or could not be read */
  removeAllKeys(): readonly string[];
  /** @returns the active profile's name; `production` at first */
  active(): string;
  /** Makes a profile the active one. */
  activate(name: string): Promise<void>;
}

/** The profile that serves itself (contract, section 8). */
export const SANDBOX = 'sandbox';
/** The active profile before anyone switches. */
export const FIRST_ACTIVE = 'production';
/** The profiles that exist from the start (contract, section 4). */
export const BUILT_IN: readonly string[] = [FIRST_ACTIVE, 'staging', SANDBOX];

const NAME = /^[a-z0-9][a-z0-9_-]{0,31}$/;

/**
 * @param name what is to be a profile's name
 * @returns whether it keeps the rule of the contract (section 4)
 */
export function isProfileName(name: string): boolean {
  return NAME.test(name);
}

// Nobody looks for a name that was not typed now.
function told(from: string | undefined): string {
  return from === undefined ? '' : `${from}: `;
}

/**
 * @param name what was given as a profile's name
 * @param from the variable that gave it, if one did
 * @returns the name
 * @throws PetstoreError `usage` where it breaks the rule
 */
export function checkProfileName(name: string, from?: string): string {
  if (isProfileName(name)) return name;
  const shown = looksLikeKey(name) ? 'that' : `"${escapeControls(name.slice(0, 40))}"`;
  throw new PetstoreError('usage', `${told(from)}${shown} cannot be a profile's name`, {
    hint: 'a name is 1 to 32 lower-case letters, digits, - and _, and begins with a letter or digit',
  });
}

/**
 * @param name a name that keeps the rule but belongs to no profile
 * @param names the profiles there are
 * @param from the variable that gave the name, if one did
 * @returns an error of kind `usage` that lists them and names the nearest
 */
export function unknownProfile(name: string, names: readonly string[], from?: string): PetstoreError {
  const list = `there are: ${names.join(', ')}`;
  // A key typed where a profile's name belongs is not repeated.
  if (looksLikeKey(name)) return new PetstoreError('usage', `${told(from)}there is no such profile; ${list}`);
  const near = closestMatch(name, names);
  return new PetstoreError('usage', `${told(from)}there is no profile "${name}"; ${list}`, {
    hint: near
      ? `did you mean ${near}? or make it: petstore auth login -p ${name}`
      : `make it with: petstore auth login -p ${name}`,
  });
}
