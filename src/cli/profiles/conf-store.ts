// The profiles on disk, saved with conf: one private file per profile, so that concurrent logins lose nothing.
import * as fs from 'node:fs';
import { dirname, join } from 'node:path';
import Conf from 'conf';
import { systemClock } from '../../clock.ts';
import { PetstoreError, storageError } from '../../errors.ts';
import { mkdirp } from '../../settings/mkdirp.ts';
import { escapeControls } from '../../text/escape.ts';
import { writableHint } from '../hints.ts';
import type { StoredProfile } from './store.ts';
import { BUILT_IN_PROFILES, checkProfileName, DEFAULT_PROFILE, hasKey, isProfileName } from './store.ts';

/** A temporary file older than this was left behind by a killed write. */
const STALE_MS = 60_000;
const ACTIVE = 'active';
const PREFIX = 'profile-';
const FIELDS = ['url', 'key', 'keyCommand', 'origin', ACTIVE] as const;

/** A profile, or the name of the active one. */
type Settings = { readonly [Field in (typeof FIELDS)[number]]?: string | undefined };

export type ProfileStore = ReturnType<typeof openConfStore>;

/**
 * Opens the profiles in a directory. Neither opening nor reading creates a file. Every method throws PetstoreError `storage`
 * if a file cannot be read or written.
 */
export function openConfStore(dir: string) {
  const pathOf = (file: string): string => join(dir, `${file}.json`);

  // conf reads the file at each access.
  const open = (file: string): Pick<Conf, 'store'> =>
    new Conf({
      cwd: dir,
      configName: file,
      configFileMode: 0o600,
      deserialize: (text) => parseSettings(text, pathOf(file)),
    });

  const read = (file: string): Settings | undefined =>
    guarded(pathOf(file), 'read', () => (isUsable(pathOf(file)) ? (open(file).store as Settings) : undefined));

  // conf reports a short write on a full disk as success, so the old file is kept until the new one has been read back.
  const write = (file: string, settings: Settings): void => {
    const path = pathOf(file);
    const existed = read(file) !== undefined;
    guarded(path, 'write', () => {
      mkdirp(dir);
      const old = `${path}.old`;
      if (existed) fs.copyFileSync(path, old);
      try {
        open(file).store = { ...settings };
        read(file);
      } catch (error) {
        if (existed) fs.renameSync(old, path);
        else fs.rmSync(path, { force: true });
        throw error instanceof PetstoreError ? new Error('it cannot be read back') : error;
      }
      fs.rmSync(old, { force: true });
      // A newer file may belong to another process.
      removeAll(`${file}.json.`, systemClock.now() - STALE_MS);
    });
  };

  // A killed write may leave a key in a temporary or backup file, whose name begins with that of the file.
  const removeAll = (start: string, before = Number.POSITIVE_INFINITY): readonly string[] => {
    const isOlder = (name: string): boolean =>
      (fs.statSync(join(dir, name), { throwIfNoEntry: false })?.mtimeMs ?? 0) < before;
    const names = list().filter((name) => name.startsWith(start) && isOlder(name));
    for (const name of names) fs.rmSync(join(dir, name), { force: true });
    return names;
  };
  const remove = (file: string): boolean =>
    guarded(pathOf(file), 'remove', () => removeAll(`${file}.json`).includes(`${file}.json`));

  const list = (): readonly string[] => (fs.existsSync(dir) ? fs.readdirSync(dir) : []);

  const store = {
    /** All profile names, the built-in ones first; no file is read. */
    names(): readonly string[] {
      const saved = guarded(dir, 'read', list).flatMap((name) => /^profile-(.*)\.json$/.exec(name)?.[1] ?? []);
      return [
        ...BUILT_IN_PROFILES,
        ...saved.filter((name) => isProfileName(name) && !BUILT_IN_PROFILES.includes(name)).sort(),
      ];
    },
    get: (name: string): StoredProfile | undefined => read(PREFIX + checkProfileName(name)),
    save: (name: string, profile: StoredProfile): void => write(PREFIX + checkProfileName(name), profile),
    /** Removes the key or key command and keeps the URL. @returns whether a key was removed */
    removeKey(name: string): boolean {
      const profile = store.get(name);
      if (!hasKey(profile)) return false;
      store.save(name, { url: profile?.url });
      guarded(dir, 'write', () => removeAll(`${PREFIX}${name}.json.`));
      return true;
    },
    /** Removes the profile; if it was active, `production` becomes active. @returns whether it existed */
    remove(name: string): boolean {
      const removed = remove(PREFIX + checkProfileName(name));
      if (store.activeIfReadable() === name) remove(ACTIVE);
      return removed;
    },
    active(): string {
      const name = read(ACTIVE)?.active ?? DEFAULT_PROFILE;
      if (!isProfileName(name)) throw damagedFileError(pathOf(ACTIVE), 'does not name a profile');
      return name;
    },
    /** Undefined if the file that names the active profile is damaged. */
    activeIfReadable(): string | undefined {
      try {
        return store.active();
      } catch {
        return undefined;
      }
    },
    activate(name: string): void {
      checkProfileName(name);
      // A damaged file can be replaced: it contains no key.
      if (store.activeIfReadable() === undefined) remove(ACTIVE);
      write(ACTIVE, { active: name });
    },
  };
  return store;
}

/**
 * Makes the user's own file private; a file owned by root, such as a mounted secret, is used as it is.
 * @returns false if there is no such file
 * @throws PetstoreError `storage` for a file owned by another user, whose key command would run as this user
 */
function isUsable(path: string): boolean {
  const stats = fs.statSync(path, { throwIfNoEntry: false });
  if (!stats) {
    checkParent(path);
    return false;
  }
  // Opening a FIFO would block.
  if (!stats.isFile()) throw damagedFileError(path, 'is not a regular file');
  const user = process.getuid?.();
  if (user === undefined) return true;
  if (stats.uid !== user && stats.uid !== 0) {
    throw new PetstoreError('storage', `"${escapeControls(path)}" is owned by another user`, {
      hint: 'set PETSTORE_CONFIG_DIR to a directory of your own',
    });
  }
  try {
    if (stats.uid === user && (stats.mode & 0o077) !== 0) fs.chmodSync(path, 0o600);
  } catch (error) {
    // A secret that is mounted read-only for root keeps its mode.
    if ((error as NodeJS.ErrnoException).code !== 'EROFS') throw error;
  }
  return true;
}

// Windows reports a path below a file as absent, and so does Node.js since version 22.
function checkParent(path: string): void {
  const parent = dirname(path);
  const stats = fs.statSync(parent, { throwIfNoEntry: false });
  if (!stats && parent !== path) checkParent(parent);
  if (stats && !stats.isDirectory()) throw Object.assign(new Error(), { code: 'ENOTDIR' });
}

function parseSettings(text: string, path: string): Record<string, unknown> {
  try {
    const value = JSON.parse(text);
    const isText = (field: string): boolean => ['string', 'undefined'].includes(typeof value[field]);
    if (typeof value === 'object' && !Array.isArray(value) && FIELDS.every(isText)) return value;
  } catch {
    // The parser's message quotes the text, which may contain a key.
  }
  throw damagedFileError(path, 'is damaged');
}

function damagedFileError(path: string, what: string): PetstoreError {
  const profile = /profile-([^/\\]+)\.json$/.exec(path)?.[1];
  const hint = profile
    ? `run \`petstore auth logout -p ${profile} --delete\` to delete the profile`
    : `run \`petstore auth switch ${DEFAULT_PROFILE}\` to set the active profile again`;
  return new PetstoreError('storage', `"${escapeControls(path)}" ${what}`, { hint });
}

// Converts file system errors to PetstoreError `storage`.
function guarded<T>(path: string, verb: 'read' | 'write' | 'remove', work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof PetstoreError) throw error;
    throw storageError(error, verb, path, writableHint('PETSTORE_CONFIG_DIR'));
  }
}
