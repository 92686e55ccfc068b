// The folder of the private files: whose it is, who may write there, and what killed writes left in it.
import type * as nodeFs from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { mkdirp } from '../append-log/mkdirp.ts';
import { currentProcess, isAlive } from '../append-log/process-liveness.ts';
import { PetstoreError } from '../errors.ts';
import { escapeControls } from '../escape.ts';

/** The part of `node:fs` that private files need; tests hand in one that fails. */
export type PrivateFs = Pick<
  typeof nodeFs,
  | 'openSync'
  | 'closeSync'
  | 'readFileSync'
  | 'writeSync'
  | 'fsyncSync'
  | 'fstatSync'
  | 'fchmodSync'
  | 'lstatSync'
  | 'statSync'
  | 'chmodSync'
  | 'mkdirSync'
  | 'readdirSync'
  | 'realpathSync'
  | 'renameSync'
  | 'unlinkSync'
>;

/** Where private files live and whose they are. */
export interface PrivateFolder {
  readonly dir: string;
  readonly fs: PrivateFs;
  /** The user's id; undefined where the platform has none (Windows), and rights are then the platform's. */
  readonly uid: number | undefined;
  /** Whether a file of that name is one of ours: a folder with others in it is not ours to close. */
  readonly owns: (name: string) => boolean;
}

// Where it is set nobody replaces files of others, as in /tmp.
const STICKY = 0o1000;
const TEMPORARY = /\.tmp-([0-9]+)-[0-9a-f-]{36}$/;
/**
 * @param folder the folder
 * @returns the names of the files there, without reading any; none where the folder is missing
 * @throws PetstoreError `storage` where it cannot be read
 */
export function listPrivate(folder: PrivateFolder): readonly string[] {
  try {
    return (folder.fs.readdirSync(folder.dir) as string[]).filter((name) => !TEMPORARY.test(name));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw asStorage(error, folder.dir, 'read');
  }
}

function temporaries({ fs, dir }: PrivateFolder): string[] {
  try {
    return (fs.readdirSync(dir) as string[]).filter((name) => TEMPORARY.test(name));
  } catch {
    // No folder, no leftovers; a folder that cannot be read stops whoever needs it.
    return [];
  }
}

/**
 * Makes the folder, 0700 whatever the umask. One that was there loses wider rights where it holds our files alone; one that
 * holds others too is left as it is, and refused where anybody could put a file of theirs in the place of ours.
 * @param folder the folder
 * @throws PetstoreError `storage` where it cannot be made, belongs to somebody else, or others can write there
 */
export function ensurePrivateFolder(folder: PrivateFolder): void {
  const { fs, dir, uid } = folder;
  try {
    mkdirp(dir, fs);
    if (uid === undefined) return;
    const facts = fs.statSync(dir);
    checkOwner(folder, dir, facts);
    if ((facts.mode & 0o777) === 0o700) return;
    const names = fs.readdirSync(dir) as string[];
    if (names.every((name) => folder.owns(name) || TEMPORARY.test(name))) fs.chmodSync(dir, 0o700);
    else if ((facts.mode & 0o022) !== 0 && (facts.mode & STICKY) === 0) {
      throw refusal(dir, 'can be written by others', `take their rights away (chmod 700), or set PETSTORE_CONFIG_DIR`);
    }
  } catch (error) {
    throw asStorage(error, dir, 'made');
  }
}

/**
 * Removes what writes that were killed left behind: each is a whole copy of a key.
 * @param folder the folder
 * @param all also those of processes that live
 */
export function sweep(folder: PrivateFolder, all = false): void {
  const { host } = currentProcess();
  for (const name of temporaries(folder)) {
    const pid = Number(TEMPORARY.exec(name)?.[1]);
    if (!all && isAlive({ pid, start: '', host }) !== 'dead') continue;
    try {
      folder.fs.unlinkSync(join(folder.dir, name));
    } catch {
      // Another process has swept it.
    }
  }
}

/**
 * A link is followed only where it leads to a file and a folder of the user that nobody else can write (fault A20).
 * @param folder where the file lives
 * @param path the file
 * @returns the file itself
 * @throws PetstoreError `storage` where the link is refused
 */
export function checkLink(folder: PrivateFolder, path: string): string {
  const { fs, uid } = folder;
  const facts = fs.lstatSync(path, { throwIfNoEntry: false });
  if (!facts?.isSymbolicLink()) return path;
  const remedy = 'remove the link, or let it lead to a private file of your own';
  let target: string;
  try {
    target = fs.realpathSync(path);
  } catch {
    throw refusal(path, 'is a link that leads nowhere', remedy);
  }
  const around = fs.statSync(dirname(target));
  const owned = uid === undefined || (fs.statSync(target).uid === uid && around.uid === uid);
  if (!owned || (uid !== undefined && (around.mode & 0o022) !== 0)) {
    throw refusal(path, 'is a link to where others can write', remedy);
  }
  return target;
}

/**
 * @param folder of whom it must be
 * @param path file or folder, for the message
 * @param facts its facts
 * @throws PetstoreError `storage` where it belongs to another user
 */
export function checkOwner(folder: PrivateFolder, path: string, facts: nodeFs.Stats): void {
  if (folder.uid === undefined || facts.uid === folder.uid) return;
  throw refusal(path, 'belongs to another user', 'use a file and folder of your own (PETSTORE_CONFIG_DIR)');
}

/**
 * @param path a file of ours
 * @param what what is wrong with it
 * @returns an error of kind `storage` that names file and remedy and quotes nothing of it
 */
export function damaged(path: string, what: string): PetstoreError {
  return refusal(path, what, 'it was left as it is: mend it, or move it away and log in again (petstore auth login)');
}

/**
 * @param path a file or folder
 * @param what what is wrong with it
 * @param hint what to do
 * @returns an error of kind `storage`
 */
export function refusal(path: string, what: string, hint: string): PetstoreError {
  return new PetstoreError('storage', `${escapeControls(path)} ${what}`, { hint });
}

/**
 * @param error what the file system threw
 * @param path the file or folder
 * @param verb what could not be done to it: read, written, made, removed
 * @returns an error of kind `storage` that names the file; a PetstoreError as it is
 */
export function asStorage(error: unknown, path: string, verb: string): PetstoreError {
  if (error instanceof PetstoreError) return error;
  const code = (error as NodeJS.ErrnoException).code ?? 'unknown error';
  return new PetstoreError(
    'storage',
    `${escapeControls(basename(path))} cannot be ${verb} (${code}): ${escapeControls(path)}`,
    {
      hint: 'check the rights and the space there, or give key and URL in PETSTORE_API_KEY and PETSTORE_BASE_URL',
      cause: error,
    },
  );
}
