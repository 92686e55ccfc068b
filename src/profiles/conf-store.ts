// The profiles on disk, kept with conf: one private file per profile, so that concurrent logins lose nothing.
import * as nodeFs from 'node:fs';
import { join } from 'node:path';
import type { Options } from 'conf';
import Conf from 'conf';
import type { SecureFileSystem } from './secure-file.ts';
import {
  damagedFile,
  listDir,
  removeIfPresent,
  removeLeftovers,
  secureDir,
  secureExisting,
  storageError,
  writeSecurely,
} from './secure-file.ts';
import type { ProfileStore, StoredProfile } from './store.ts';
import { BUILT_IN, checkProfileName, FIRST_ACTIVE, hasKey, isProfileName } from './store.ts';

/** The format of the files, which conf records in each; the first had a field `version` instead. */
const FORMAT = '2.0.0';
const MIGRATIONS = { [FORMAT]: (file: Conf) => file.delete('version') };
const ACTIVE = 'active';
const PREFIX = 'profile-';
const FIELDS = ['url', 'key', 'keyCommand', 'origin', 'active'] as const;

type ConfOptions = Partial<Options<Record<string, unknown>>>;
type Settings = { readonly [Field in (typeof FIELDS)[number]]?: string };

/** Opening and reading create nothing. */
export function openConfStore(dir: string, fs = nodeFs): ProfileStore {
  return new ConfStore(dir, { fs, uid: process.getuid?.(), pause });
}

function pause(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

class ConfStore implements ProfileStore {
  readonly #dir: string;
  readonly #system: SecureFileSystem;

  constructor(dir: string, system: SecureFileSystem) {
    this.#dir = dir;
    this.#system = system;
  }

  names(): readonly string[] {
    const own = this.#stored().filter((name) => !BUILT_IN.includes(name));
    return [...BUILT_IN, ...own.sort()];
  }

  get(name: string): StoredProfile | undefined {
    const settings = this.#read(PREFIX + checkProfileName(name));
    return settings && { ...settings, name };
  }

  save({ name, ...settings }: StoredProfile): void {
    this.#write(PREFIX + checkProfileName(name), settings);
  }

  removeKey(name: string): boolean {
    const stored = this.get(name);
    if (!hasKey(stored)) return false;
    this.save({ name, url: stored?.url });
    return true;
  }

  remove(name: string): boolean {
    const removed = removeIfPresent(this.#system, this.#path(PREFIX + checkProfileName(name)));
    if (this.active() === name) removeIfPresent(this.#system, this.#path(ACTIVE));
    removeLeftovers(this.#system, this.#dir);
    return removed;
  }

  removeAll(): readonly string[] {
    const names = this.#stored();
    for (const name of names) removeIfPresent(this.#system, this.#path(PREFIX + name));
    removeIfPresent(this.#system, this.#path(ACTIVE));
    removeLeftovers(this.#system, this.#dir);
    return names;
  }

  active(): string {
    const name = this.#read(ACTIVE)?.active ?? FIRST_ACTIVE;
    if (!isProfileName(name)) throw damagedFile(this.#path(ACTIVE), 'does not name a profile');
    return name;
  }

  activate(name: string): void {
    this.active();
    this.#write(ACTIVE, { active: checkProfileName(name) });
  }

  #stored(): string[] {
    return listDir(this.#system, this.#dir).flatMap((file) => {
      const name = file.startsWith(PREFIX) && file.endsWith('.json') ? file.slice(PREFIX.length, -5) : '';
      return isProfileName(name) ? [name] : [];
    });
  }

  #path(file: string): string {
    return join(this.#dir, `${file}.json`);
  }

  #read(file: string): Settings | undefined {
    if (!secureExisting(this.#system, this.#path(file))) return undefined;
    // conf reads the file again at each access.
    const { store } = this.#open(file, {});
    return Object.fromEntries(FIELDS.flatMap((field) => (store[field] === undefined ? [] : [[field, store[field]]])));
  }

  #write(file: string, settings: Readonly<Record<string, string | undefined>>): void {
    secureExisting(this.#system, this.#path(file));
    this.#open(file, { projectVersion: FORMAT, migrations: MIGRATIONS }).store = { ...settings };
    removeLeftovers(this.#system, this.#dir);
  }

  #open(file: string, options: ConfOptions): Pick<Conf, 'store'> {
    const [dir, path, system] = [this.#dir, this.#path(file), this.#system];
    // conf's own write takes a short write for success and leaves copies of the key behind (docs/architecture.md, conf).
    class SecureConf extends OverridableConf {
      _ensureDirectory(): void {
        secureDir(system, dir);
      }

      _write(settings: unknown): void {
        writeSecurely(system, path, `${JSON.stringify(settings, undefined, 2)}\n`);
      }
    }
    try {
      const deserialize = (text: string) => parseSettings(text, path);
      return new SecureConf({
        cwd: dir,
        configName: file,
        accessPropertiesByDotNotation: false,
        deserialize,
        ...options,
      });
    } catch (error) {
      throw storageError(error, path, 'read');
    }
  }
}

// Its types declare the overridden methods private.
const OverridableConf = Conf as unknown as new (options: ConfOptions) => Pick<Conf, 'store'>;

function parseSettings(text: string, path: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The parser's message quotes the text, which contains a key.
    throw damagedFile(path, 'is not valid JSON');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw damagedFile(path, 'does not contain settings');
  }
  const settings = value as { readonly [field: string]: unknown; readonly __internal__?: InternalSettings };
  if (Number.parseInt(settings.__internal__?.migrations?.version ?? FORMAT, 10) > Number.parseInt(FORMAT, 10)) {
    throw damagedFile(path, 'was written by a newer version of petstore');
  }
  const wrong = FIELDS.find((field) => settings[field] !== undefined && typeof settings[field] !== 'string');
  if (wrong) throw damagedFile(path, `is damaged: "${wrong}" is not a string`);
  return settings;
}

interface InternalSettings {
  readonly migrations?: { readonly version?: string };
}
