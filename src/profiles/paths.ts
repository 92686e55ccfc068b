// Where configuration and state are kept, by environment, platform and home folder.
import { join, posix, win32 } from 'node:path';
import { PetstoreError } from '../errors.ts';
import type { Environment } from '../io.ts';

export interface PathContext {
  readonly env: Environment;
  /** As `process.platform` names it. */
  readonly platform: string;
  /** Undefined where the machine has none. */
  readonly homeDir: string | undefined;
}

/**
 * The folder of the profiles.
 * @throws PetstoreError `storage` where none is known; keys never go to the working directory
 */
export function configDir(context: PathContext): string {
  return folder(context, 'PETSTORE_CONFIG_DIR', {
    linux: ['XDG_CONFIG_HOME', '.config'],
    darwin: ['Library', 'Preferences'],
    win32: ['APPDATA', 'Roaming', 'Config'],
  });
}

/**
 * The folder of quota, journals and sandbox data.
 * @throws PetstoreError `storage` where none is known
 */
export function stateDir(context: PathContext): string {
  return folder(context, 'PETSTORE_STATE_DIR', {
    linux: ['XDG_STATE_HOME', '.local', 'state'],
    darwin: ['Library', 'Application Support'],
    win32: ['LOCALAPPDATA', 'Local', 'State'],
  });
}

/** The data file of the profile `sandbox`, and of `petstore sandbox` without `--data`. */
export function sandboxDataFile(stateDirectory: string): string {
  return join(stateDirectory, 'sandbox', 'data');
}

interface PlatformFolders {
  readonly linux: readonly [variable: string, ...below: string[]];
  readonly darwin: readonly string[];
  readonly win32: readonly [variable: string, appData: string, leaf: string];
}

function folder({ env, platform, homeDir }: PathContext, variable: string, folders: PlatformFolders): string {
  const path = platform === 'win32' ? win32 : posix;
  const own = env[variable];
  if (own !== undefined && own !== '') return path.resolve(own);
  // A relative path in an XDG variable is invalid and ignored (XDG base directory specification).
  const absolute = (value: string | undefined) => (value && path.isAbsolute(value) ? value : undefined);
  const home = absolute(homeDir);
  if (platform === 'win32') {
    const [appData, name, leaf] = folders.win32;
    const base = absolute(env[appData]) ?? (home && path.join(home, 'AppData', name));
    if (base) return path.join(base, 'petstore', leaf);
  } else if (platform === 'darwin') {
    if (home) return path.join(home, ...folders.darwin, 'petstore');
  } else {
    const [xdg, ...below] = folders.linux;
    const base = absolute(env[xdg]) ?? (home && path.join(home, ...below));
    if (base) return path.join(base, 'petstore');
  }
  throw new PetstoreError('storage', 'no home folder is available', {
    hint: `set ${platform === 'win32' ? folders.win32[0] : 'HOME'}, or set ${variable} to a folder of your own`,
  });
}
