// Locates the configuration and state directories by environment, platform and home directory.
import { join, posix, win32 } from 'node:path';
import { PetstoreError } from '../errors.ts';
import type { Context } from '../io.ts';

type PathContext = Pick<Context, 'env' | 'platform' | 'homeDir'>;

/**
 * The directory of the profiles.
 * @throws PetstoreError `storage` if it cannot be determined; keys are never saved in the working directory
 */
export function configDir(context: PathContext): string {
  return directory(context, 'PETSTORE_CONFIG_DIR', {
    linux: { variable: 'XDG_CONFIG_HOME', inHome: ['.config'] },
    darwin: { inHome: ['Library', 'Preferences'] },
    win32: { variable: 'APPDATA', inHome: ['AppData', 'Roaming'], leaf: 'Config' },
  });
}

/**
 * The directory of quota, import locks and sandbox data.
 * @throws PetstoreError `storage` if it cannot be determined
 */
export function stateDir(context: PathContext): string {
  return directory(context, 'PETSTORE_STATE_DIR', {
    linux: { variable: 'XDG_STATE_HOME', inHome: ['.local', 'state'] },
    darwin: { inHome: ['Library', 'Application Support'] },
    win32: { variable: 'LOCALAPPDATA', inHome: ['AppData', 'Local'], leaf: 'State' },
  });
}

/** The data file of the profile `sandbox`, and of `petstore sandbox` without `--data`. */
export function sandboxDataFile(stateDirectory: string): string {
  return join(stateDirectory, 'sandbox', 'data');
}

/** A platform's directory for application files: named by a variable, otherwise in the home directory. */
interface ApplicationDirectory {
  readonly variable?: string;
  readonly inHome: readonly string[];
  /** A subdirectory of petstore's directory. */
  readonly leaf?: string;
}

function directory(
  { env, platform, homeDir }: PathContext,
  override: string,
  directories: Readonly<Record<'linux' | 'darwin' | 'win32', ApplicationDirectory>>,
): string {
  const path = platform === 'win32' ? win32 : posix;
  const own = env[override];
  if (own !== undefined && own !== '') return path.resolve(own);
  const {
    variable = '',
    inHome,
    leaf = '',
  } = directories[platform === 'darwin' || platform === 'win32' ? platform : 'linux'];
  // A relative path in an XDG variable is invalid and ignored (XDG base directory specification).
  const absolute = (value: string | undefined) => (value && path.isAbsolute(value) ? value : undefined);
  const home = absolute(homeDir);
  const base = absolute(env[variable]) ?? (home && path.join(home, ...inHome));
  if (base) return path.join(base, 'petstore', leaf);
  throw new PetstoreError('storage', 'cannot determine the home directory', {
    hint: `set ${platform === 'win32' ? variable : 'HOME'}, or set ${override} to a writable directory`,
  });
}
