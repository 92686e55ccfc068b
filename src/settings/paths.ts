// Locates the configuration and state directories by environment, platform and home directory, and creates them.
import { existsSync, mkdirSync, readdirSync, realpathSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join, posix, win32 } from 'node:path';
import { PetstoreError } from '../errors.ts';

export interface PathContext {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly platform: string;
  readonly homeDir: string | undefined;
}

/** By overriding variable and platform: the platform's variable, the default below the home directory, and petstore's directory in it. */
const DIRECTORIES = {
  PETSTORE_CONFIG_DIR: {
    linux: ['XDG_CONFIG_HOME', '.config', 'petstore'],
    darwin: ['', 'Library/Preferences', 'petstore'],
    win32: ['APPDATA', 'AppData/Roaming', 'petstore/Config'],
  },
  PETSTORE_STATE_DIR: {
    linux: ['XDG_STATE_HOME', '.local/state', 'petstore'],
    darwin: ['', 'Library/Application Support', 'petstore'],
    win32: ['LOCALAPPDATA', 'AppData/Local', 'petstore/State'],
  },
} as const;

/** The directory of the profiles. @throws PetstoreError `storage` if it cannot be determined */
export const configDir = (context: PathContext): string => directory(context, 'PETSTORE_CONFIG_DIR');

/** The directory of quota, import locks and sandbox data; throws as `configDir` does. */
export const stateDir = (context: PathContext): string => directory(context, 'PETSTORE_STATE_DIR');

/** The state directory; undefined if it cannot be determined: the ledger is then kept in memory. */
export function stateDirIfAny(context: PathContext): string | undefined {
  try {
    return stateDir(context);
  } catch {
    return undefined;
  }
}

/** The path, without suffix, of the data files of the profile `sandbox` and of `petstore sandbox` without `--data`. */
export function sandboxDataFile(stateDirectory: string): string {
  return join(stateDirectory, 'sandbox', 'categories');
}

/** The path without symbolic links; the end of the path need not exist. */
export function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    const parent = dirname(path);
    return parent === path ? path : join(realPath(parent), basename(path));
  }
}

function directory({ env, platform, homeDir }: PathContext, override: keyof typeof DIRECTORIES): string {
  const path = platform === 'win32' ? win32 : posix;
  if (env[override]) return path.resolve(env[override]);
  const [variable, inHome, name] =
    DIRECTORIES[override][platform === 'darwin' || platform === 'win32' ? platform : 'linux'];
  // A relative path in an XDG variable is invalid and ignored (XDG base directory specification).
  const bases = [env[variable], homeDir && path.join(homeDir, inHome)];
  const base = bases.find((one) => one && path.isAbsolute(one));
  if (base) return path.join(base, name);
  throw new PetstoreError('storage', 'cannot determine the home directory', {
    hint: `set ${platform === 'win32' ? variable : 'HOME'} or ${override} to a writable directory`,
  });
}

/** How long a log is kept after its last use, in milliseconds. */
export const RETENTION_MS = 48 * 3_600_000;

/**
 * Creates an absolute directory and its parents with mode 0700. Node's `recursive: true` never returns if a parent exists
 * but reports ENOENT for new entries, such as `/proc` or an automounted `/home` (measured with Node 20 to 26).
 * @throws file system errors unchanged
 */
export function mkdirp(dir: string): void {
  if (existsSync(dir) || dirname(dir) === dir) return;
  mkdirp(dirname(dir));
  try {
    mkdirSync(dir, { mode: 0o700 });
  } catch (error) {
    // Another process created it at the same moment.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

/**
 * Creates the directory of a log, and removes directories beside it that were not used for RETENTION_MS.
 * @throws file system errors unchanged
 */
export function mkdirAndPrune(dir: string): void {
  if (existsSync(dir)) return;
  mkdirp(dir);
  const oldest = statSync(dir).mtimeMs - RETENTION_MS;
  for (const name of readdirSync(dirname(dir))) removeUnused(join(dirname(dir), name), oldest);
}

function removeUnused(dir: string, oldest: number): void {
  try {
    const files = readdirSync(dir).map((name) => join(dir, name));
    // Keep an empty directory: another process may have just created it.
    if (files.length === 0 || files.some((file) => statSync(file).mtimeMs >= oldest)) return;
    rmSync(dir, { recursive: true });
  } catch {
    // Another process is removing the entry, or it is not a directory.
  }
}
