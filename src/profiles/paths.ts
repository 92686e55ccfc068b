// Where configuration and state live: pure functions of environment, platform and home folder.
import { join, posix, win32 } from 'node:path';
import type { Environment } from '../environment.ts';
import { PetstoreError } from '../errors.ts';

/** What decides where files go. */
export interface PathContext {
  readonly env: Environment;
  /** As `process.platform` names it. */
  readonly platform: string;
  /** Undefined where the machine knows none. */
  readonly homeDir: string | undefined;
}

/**
 * @param place environment, platform, home folder
 * @returns the folder of the profiles: PETSTORE_CONFIG_DIR, else the platform's own
 * @throws PetstoreError `storage` where neither is known; keys never go to the working directory
 */
export function configDir(place: PathContext): string {
  return folder(place, 'PETSTORE_CONFIG_DIR', {
    linux: ['XDG_CONFIG_HOME', '.config'],
    darwin: ['Library', 'Preferences'],
    win32: ['APPDATA', 'Roaming', 'Config'],
  });
}

/**
 * @param place environment, platform, home folder
 * @returns the folder of quota, journals and sandbox data: PETSTORE_STATE_DIR, else the platform's own
 * @throws PetstoreError `storage` where neither is known
 */
export function stateDir(place: PathContext): string {
  return folder(place, 'PETSTORE_STATE_DIR', {
    linux: ['XDG_STATE_HOME', '.local', 'state'],
    darwin: ['Library', 'Application Support'],
    win32: ['LOCALAPPDATA', 'Local', 'State'],
  });
}

/**
 * @param state the state folder
 * @returns the data file of the profile `sandbox`, and of `petstore sandbox` without `--data`
 */
export function sandboxDataFile(state: string): string {
  return join(state, 'sandbox', 'data');
}

interface Custom {
  readonly linux: readonly [variable: string, ...below: string[]];
  readonly darwin: readonly string[];
  readonly win32: readonly [variable: string, appData: string, leaf: string];
}

function folder(place: PathContext, variable: string, custom: Custom): string {
  const { env, platform } = place;
  const path = platform === 'win32' ? win32 : posix;
  const own = env[variable];
  if (own !== undefined && own !== '') return path.resolve(own);
  // The XDG base directory specification: a relative path is invalid and to be ignored.
  const home = place.homeDir !== undefined && path.isAbsolute(place.homeDir) ? place.homeDir : undefined;
  if (platform === 'win32') {
    const [appData, name, leaf] = custom.win32;
    const base = absolute(path, env[appData]) ?? (home && path.join(home, 'AppData', name));
    if (base) return path.join(base, 'petstore', leaf);
  } else if (platform === 'darwin') {
    if (home) return path.join(home, ...custom.darwin, 'petstore');
  } else {
    const [xdg, ...below] = custom.linux;
    const base = absolute(path, env[xdg]) ?? (home && path.join(home, ...below));
    if (base) return path.join(base, 'petstore');
  }
  throw new PetstoreError('storage', 'there is no home folder to keep files in', {
    hint: `set ${platform === 'win32' ? custom.win32[0] : 'HOME'}, or ${variable} to a folder of your own`,
  });
}

function absolute(path: typeof posix, value: string | undefined): string | undefined {
  return value !== undefined && path.isAbsolute(value) ? value : undefined;
}
