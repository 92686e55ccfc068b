// The profiles on disk: one private conf file per profile, so that logins at the same time lose nothing, and one for the active profile.
import * as nodeFs from 'node:fs';
import { join } from 'node:path';
import { userId } from './own-process.ts';
import { readPrivate, removePrivate } from './secure-file.ts';
import type { PrivateFolder, PrivateFs } from './secure-folder.ts';
import { asStorage, damaged, ensurePrivateFolder, listPrivate, sweep } from './secure-folder.ts';
import type { ProfileStore, StoredProfile } from './store.ts';
import { BUILT_IN, checkProfileName, FIRST_ACTIVE, isProfileName } from './store.ts';

/** The version of the files; a newer program's files are left alone. */
const VERSION = 1;
const ACTIVE = 'active';
const PREFIX = 'profile-';
const OWN_FILE = /^(?:profile-.*|active)\.json$/;

/**
 * Opens the profiles of a folder. Reading makes nothing, takes wider rights away, and does without conf, whose loading
 * would take longer than all the rest of a short command; conf writes.
 * @param dir the config folder
 * @param fs the file system; tests hand in one that fails
 * @returns the store
 */
export function openConfStore(dir: string, fs: PrivateFs = nodeFs): ProfileStore {
  return new ConfStore({ dir, fs, uid: userId(), owns: (name) => OWN_FILE.test(name) });
}

class ConfStore implements ProfileStore {
  readonly #folder: PrivateFolder;

  constructor(folder: PrivateFolder) {
    this.#folder = folder;
  }

  names(): readonly string[] {
    const own = this.#stored().filter((name) => !BUILT_IN.includes(name));
    return [...BUILT_IN, ...own.sort()];
  }

  list(): readonly StoredProfile[] {
    return this.#stored().flatMap((name) => this.get(name) ?? []);
  }

  get(name: string): StoredProfile | undefined {
    const fields = this.#read(PREFIX + checkProfileName(name), ['url', 'key', 'origin']);
    return fields && { ...fields, name };
  }

  async save(profile: StoredProfile): Promise<void> {
    const { name, ...fields } = profile;
    // What cannot be read is not replaced.
    this.get(name);
    await this.#write(PREFIX + name, fields);
  }

  async forgetKey(name: string): Promise<boolean> {
    const stored = this.get(name);
    sweep(this.#folder);
    if (stored?.key === undefined) return false;
    await this.#write(PREFIX + name, stored.url === undefined ? {} : { url: stored.url });
    return true;
  }

  removeAllKeys(): readonly string[] {
    const gone = this.#stored().filter((name) => {
      const keyless = this.#isKeyless(name);
      return removePrivate(this.#folder, `${PREFIX}${name}.json`) && !keyless;
    });
    removePrivate(this.#folder, `${ACTIVE}.json`);
    sweep(this.#folder, true);
    return gone;
  }

  active(): string {
    const name = this.#read(ACTIVE, ['active'])?.active ?? FIRST_ACTIVE;
    if (!isProfileName(name)) throw damaged(join(this.#folder.dir, `${ACTIVE}.json`), 'names no profile');
    return name;
  }

  async activate(name: string): Promise<void> {
    this.active();
    await this.#write(ACTIVE, { active: checkProfileName(name) });
  }

  #stored(): string[] {
    return listPrivate(this.#folder).flatMap((file) => {
      const name = file.startsWith(PREFIX) && file.endsWith('.json') ? file.slice(PREFIX.length, -5) : '';
      return isProfileName(name) ? [name] : [];
    });
  }

  #isKeyless(name: string): boolean {
    try {
      return this.get(name)?.key === undefined;
    } catch {
      // Nobody knows what a damaged file held.
      return false;
    }
  }

  #read<Field extends string>(file: string, fields: readonly Field[]): { [F in Field]?: string } | undefined {
    const text = readPrivate(this.#folder, `${file}.json`);
    return text === undefined ? undefined : parse(text, fields, join(this.#folder.dir, `${file}.json`));
  }

  async #write(file: string, fields: Readonly<Record<string, string>>): Promise<void> {
    const { loadConf } = await import('./safe-conf.ts');
    const openConf = await loadConf();
    try {
      ensurePrivateFolder(this.#folder);
      openConf(this.#folder, file).store = { version: VERSION, ...fields };
    } catch (error) {
      throw asStorage(error, join(this.#folder.dir, `${file}.json`), 'written');
    }
  }
}

function parse<Field extends string>(text: string, fields: readonly Field[], path: string): { [F in Field]?: string } {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The parser's own message quotes the text, and the text holds a key.
    throw damaged(path, 'is damaged: it is no JSON');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw damaged(path, 'is damaged: it holds no settings');
  }
  const settings = new Map<string, unknown>(Object.entries(value));
  const version = settings.get('version');
  if (typeof version === 'number' && version > VERSION) {
    throw damaged(path, 'was written by a newer version of petstore');
  }
  if (version !== VERSION) throw damaged(path, 'is damaged: it has no version');
  const read: { [F in Field]?: string } = {};
  for (const field of fields) {
    const setting = settings.get(field);
    if (setting === undefined) continue;
    if (typeof setting !== 'string') throw damaged(path, `is damaged: ${field} is no text`);
    read[field] = setting;
  }
  return read;
}
