// The profiles on disk, in one private file of conf.
import * as fs from 'node:fs';
import { join } from 'node:path';
import Conf from 'conf';
import { PetstoreError, storageError } from '../../errors.ts';
import { mkdirp } from '../../settings/paths.ts';
import { escapeControls } from '../../text/escape.ts';
import { isJsonObject, tryParseJson } from '../../text/json.ts';
import { writableHint } from '../hints.ts';
import type { StoredProfile } from './store.ts';
import { BUILT_IN_PROFILES, checkProfileName, DEFAULT_PROFILE, isProfileName } from './store.ts';

/** The content of the file of profiles. */
interface SavedProfiles {
  readonly active?: string | undefined;
  readonly profiles?: Readonly<Record<string, StoredProfile>>;
}

export type ProfileStore = ReturnType<typeof openConfStore>;

/**
 * Opens the profiles in a directory. Neither opening nor reading creates a file. Every method throws PetstoreError `storage`
 * if the file cannot be read or written. Of two processes that save at the same moment, one may lose its change.
 */
export function openConfStore(dir: string) {
  const path = join(dir, 'config.json');
  const serialize = (saved: SavedProfiles): string => JSON.stringify(saved, undefined, 2);
  const deserialize = (text: string): SavedProfiles => {
    // The parser's error would quote the text, which may contain a key.
    const saved = tryParseJson(text);
    if (isSavedProfiles(saved)) return saved;
    throw damagedFileError(path, 'is damaged');
  };
  // No `defaults`: conf would write them when it opens the file.
  const open = () => new Conf<SavedProfiles>({ cwd: dir, configFileMode: 0o600, serialize, deserialize });

  const read = (): SavedProfiles => guarded('read', path, () => (makePrivate(path) ? open().store : {}));

  const write = (change: SavedProfiles): void => {
    const saved = { ...read(), ...change };
    guarded('write', path, () => {
      mkdirp(dir);
      checkSpace(path, serialize(saved).length);
      open().store = saved;
    });
  };

  const profiles = (): Map<string, StoredProfile> => new Map(Object.entries(read().profiles ?? {}));

  const store = {
    /** All profile names, the built-in ones first. */
    names: (): readonly string[] => [...new Set([...BUILT_IN_PROFILES, ...[...profiles().keys()].sort()])],
    get: (name: string): StoredProfile | undefined => profiles().get(name),
    save(name: string, profile: StoredProfile): void {
      write({ profiles: Object.fromEntries(profiles().set(checkProfileName(name), profile)) });
    },
    /** Removes the profile; if it was active, `production` becomes active. @returns whether it was saved */
    remove(name: string): boolean {
      const left = profiles();
      const existed = left.delete(name);
      if (existed) write({ profiles: Object.fromEntries(left) });
      if (store.active() === name) store.activate(DEFAULT_PROFILE);
      return existed;
    },
    active: (): string => read().active ?? DEFAULT_PROFILE,
    activate: (name: string): void => write({ active: checkProfileName(name) }),
  };
  return store;
}

function isSavedProfiles(value: unknown): value is SavedProfiles {
  if (!isJsonObject(value)) return false;
  const { active = DEFAULT_PROFILE, profiles = {} } = value;
  if (typeof active !== 'string' || !isProfileName(active) || !isJsonObject(profiles)) return false;
  return Object.entries(profiles).every(([name, profile]) => isProfileName(name) && isStoredProfile(profile));
}

function isStoredProfile(value: unknown): boolean {
  const isText = (field: unknown): boolean => ['string', 'undefined'].includes(typeof field);
  return isJsonObject(value) && [value['url'], value['key'], value['keyCommand'], value['origin']].every(isText);
}

/**
 * Makes the user's own file private; a file owned by root, such as a mounted secret, is used as it is.
 * @returns false if there is no such file
 * @throws PetstoreError `storage` for a special file, and for a file of another user, whose key command would run as this user
 */
function makePrivate(path: string): boolean {
  const stats = statIfAny(path);
  if (!stats) return false;
  // Opening a FIFO would block.
  if (!stats.isFile()) throw damagedFileError(path, 'is not a regular file');
  const user = process.getuid?.();
  if (user !== undefined && stats.uid !== user && stats.uid !== 0) {
    const hint = 'set PETSTORE_CONFIG_DIR to a directory that you own';
    throw new PetstoreError('storage', `"${escapeControls(path)}" is owned by another user`, { hint });
  }
  try {
    if (stats.uid === user && (stats.mode & 0o077) !== 0) fs.chmodSync(path, 0o600);
  } catch (error) {
    // A file on a read-only file system, such as a mounted secret, keeps its mode.
    if ((error as NodeJS.ErrnoException).code !== 'EROFS') throw error;
  }
  return true;
}

// `throwIfNoEntry: false` would also ignore a file in place of the directory, with Node 22 and newer.
function statIfAny(path: string): fs.Stats | undefined {
  try {
    return fs.statSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

// On a full disk, conf would replace the file with the part that it could write.
function checkSpace(path: string, bytes: number): void {
  const probe = `${path}.space`;
  try {
    fs.writeFileSync(probe, ' '.repeat(bytes), { mode: 0o600 });
  } finally {
    fs.rmSync(probe, { force: true });
  }
}

function damagedFileError(path: string, what: string): PetstoreError {
  const hint = 'correct the file, or delete it and log in again';
  return new PetstoreError('storage', `"${escapeControls(path)}" ${what}`, { hint });
}

// Converts file system errors to PetstoreError `storage`.
function guarded<T>(verb: 'read' | 'write', path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof PetstoreError) throw error;
    throw storageError(error, verb, path, writableHint('PETSTORE_CONFIG_DIR'));
  }
}
