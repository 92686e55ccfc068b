// `node:fs` in memory; the first part of a path names the machine. Disks can fill up, and a process can die during a write.
import type { Machine, SimulatedProcess } from '../scheduler.ts';
import { currentProcess, KilledError } from '../scheduler.ts';
import { surroundings } from './world.ts';

interface Node {
  readonly inode: number;
  readonly isDirectory: boolean;
  bytes: Buffer;
  size: number;
  /** Bytes that survive a power failure. */
  synced: number;
  mode: number;
}

interface Descriptor {
  readonly node: Node;
  readonly path: string;
}

export const constants = {
  O_RDONLY: 0,
  O_WRONLY: 1,
  O_RDWR: 2,
  O_CREAT: 0o100,
  O_EXCL: 0o200,
  O_TRUNC: 0o1000,
  O_APPEND: 0o2000,
  O_NONBLOCK: 0o4000,
  O_NOFOLLOW: 0o400000,
  F_OK: 0,
  R_OK: 4,
  W_OK: 2,
  X_OK: 1,
  COPYFILE_EXCL: 1,
} as const;

let nodes = new Map<string, Node>();
let descriptors = new Map<number, Descriptor>();
let nextInode = 1;
let nextDescriptor = 10;

/** Empties all disks. */
export function formatDisks(): void {
  nodes = new Map();
  descriptors = new Map();
  nextInode = 1;
  nextDescriptor = 10;
}

/** A power failure: any part of what was not synced is lost. */
export function loseUnsynced(machine: string): void {
  const { random } = surroundings().scheduler;
  for (const [path, node] of nodes) {
    if (path.startsWith(`/${machine}/state/`))
      // Often nothing of it has been written.
      node.size = node.synced + (random() < 0.5 ? 0 : Math.floor(random() * (node.size - node.synced + 1)));
  }
}

/** Puts a copy in the place of each import journal, as a restored backup or a synchronized directory does. */
export function replaceJournals(machine: string): void {
  for (const [path, node] of nodes) {
    if (!path.startsWith(`/${machine}/state/imports/`) || node.isDirectory) continue;
    nodes.set(path, { ...node, inode: nextInode++, bytes: Buffer.from(node.bytes), synced: node.size });
  }
}

/** Every file of all machines, for the invariants. */
export function* files(): Generator<[path: string, bytes: Buffer]> {
  for (const [path, node] of nodes) if (!node.isDirectory) yield [path, contentOf(node)];
}

function fail(code: string, syscall: string, path: string): never {
  throw Object.assign(new Error(`${code}: ${syscall} '${path}'`), { code, syscall, path, errno: -1 });
}

// Throws in a killed process, so that its code cannot clean up.
function enter(): SimulatedProcess | undefined {
  const caller = currentProcess();
  if (caller?.dead) throw new KilledError();
  return caller;
}

function contentOf(node: Node): Buffer {
  return node.bytes.subarray(0, node.size);
}

function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/')) || '/';
}

function create(path: string, isDirectory: boolean, mode: number, syscall: string): Node {
  const parent = parentOf(path);
  if (parent !== '/' && !nodes.get(parent)?.isDirectory) fail('ENOENT', syscall, path);
  const node = {
    inode: nextInode++,
    isDirectory,
    bytes: Buffer.alloc(isDirectory ? 0 : 256),
    size: 0,
    synced: 0,
    mode,
  };
  nodes.set(path, node);
  return node;
}

function find(path: string, syscall: string): Node {
  return nodes.get(path) ?? fail('ENOENT', syscall, path);
}

export function openSync(path: string, flags: number | string = 'r', mode = 0o666): number {
  enter();
  const bits = typeof flags === 'number' ? flags : flagBits(flags);
  const known = nodes.get(path);
  if (known && bits & constants.O_EXCL) fail('EEXIST', 'open', path);
  if (!known && !(bits & constants.O_CREAT)) fail('ENOENT', 'open', path);
  const node = known ?? create(path, false, mode, 'open');
  if (bits & constants.O_TRUNC) Object.assign(node, { size: 0, synced: 0 });
  descriptors.set(nextDescriptor, { node, path });
  return nextDescriptor++;
}

function flagBits(flags: string): number {
  const { O_CREAT, O_EXCL, O_TRUNC, O_APPEND, O_RDWR } = constants;
  const created = flags.startsWith('w') ? O_CREAT | O_TRUNC : flags.startsWith('a') ? O_CREAT | O_APPEND : 0;
  return created | (flags.includes('x') ? O_EXCL : 0) | O_RDWR;
}

function descriptor(fd: number, syscall: string): Descriptor {
  return descriptors.get(fd) ?? fail('EBADF', syscall, String(fd));
}

export function closeSync(fd: number): void {
  descriptors.delete(fd);
}

export function readSync(fd: number, into: Buffer, offset: number, length: number, position: number | null): number {
  enter();
  const bytes = contentOf(descriptor(fd, 'read').node);
  return bytes.copy(into, offset, position ?? 0, Math.min(bytes.length, (position ?? 0) + length));
}

// Always appends: the program writes only logs and new files through a descriptor.
export function writeSync(fd: number, data: Uint8Array | string, offset = 0, length?: number): number {
  const caller = enter();
  const { node, path } = descriptor(fd, 'write');
  const all = typeof data === 'string' ? Buffer.from(data) : data;
  const bytes = all.subarray(offset, offset + (typeof length === 'number' ? length : all.length));
  const machine = machineOf(path);
  const isCutOff = caller?.diesWriting === true && caller.sparedUntil < surroundings().scheduler.now;
  const room = Math.min(bytes.length, machine?.freeBytes ?? bytes.length);
  const written = isCutOff ? Math.min(room, cut(bytes.length)) : room;
  append(node, bytes.subarray(0, written));
  if (machine) machine.freeBytes -= written;
  if (caller && isCutOff) {
    surroundings().kill(caller);
    throw new KilledError();
  }
  if (machine && written < bytes.length && path.includes('/quota/')) machine.diskFailed = true;
  if (written === 0 && bytes.length > 0) fail('ENOSPC', 'write', path);
  return written;
}

// Often within the first two bytes: the void line that begins each write to a log.
function cut(length: number): number {
  const { random } = surroundings().scheduler;
  return random() < 0.6 ? Math.floor(random() * 3) : Math.floor(random() * (length + 1));
}

function machineOf(path: string): Machine | undefined {
  const name = path.split('/', 2)[1];
  return currentProcess()?.machine.name === name ? currentProcess()?.machine : undefined;
}

function append(node: Node, bytes: Uint8Array): void {
  const size = node.size + bytes.length;
  if (size > node.bytes.length) {
    const larger = Buffer.alloc(Math.max(size, 2 * node.bytes.length));
    node.bytes.copy(larger, 0, 0, node.size);
    node.bytes = larger;
  }
  node.bytes.set(bytes, node.size);
  node.size = size;
}

function statsOf({ inode, isDirectory, size, mode }: Node): object {
  const uid = process.getuid?.() ?? 0;
  const kind = { isFile: () => !isDirectory, isDirectory: () => isDirectory, isSymbolicLink: () => false };
  return { ino: inode, size, mode, uid, gid: process.getgid?.() ?? 0, nlink: 1, ...kind };
}

export function fstatSync(fd: number): object {
  enter();
  return statsOf(descriptor(fd, 'fstat').node);
}

export function statSync(path: string, options?: { readonly throwIfNoEntry?: boolean }): object | undefined {
  enter();
  if (options?.throwIfNoEntry === false && !nodes.has(path)) return undefined;
  return statsOf(find(path, 'stat'));
}

export const lstatSync = statSync;

export function statfsSync(): object {
  return { type: 0xef53, bavail: 1_000_000, bsize: 4096 };
}

export function fsyncSync(fd: number): void {
  enter();
  const { node } = descriptor(fd, 'fsync');
  node.synced = node.size;
}

export function fdatasync(fd: number, done: (error: Error | null) => void): void {
  const { scheduler } = surroundings();
  const caller = enter();
  const { node } = descriptor(fd, 'fdatasync');
  const { size } = node;
  scheduler.after(scheduler.between(0.1, 3), caller, () => {
    node.synced = Math.max(node.synced, size);
    done(null);
  });
}

export function mkdirSync(path: string, options: { readonly recursive?: boolean; readonly mode?: number } = {}): void {
  enter();
  if (options.recursive && parentOf(path) !== '/') mkdirSync(parentOf(path), options);
  if (!nodes.has(path)) create(path, true, options.mode ?? 0o777, 'mkdir');
  else if (!options.recursive) fail('EEXIST', 'mkdir', path);
}

export function readdirSync(path: string): string[] {
  enter();
  if (!find(path, 'scandir').isDirectory) fail('ENOTDIR', 'scandir', path);
  return [...nodes.keys()].filter((one) => parentOf(one) === path).map((one) => one.slice(path.length + 1));
}

export function linkSync(from: string, to: string): void {
  enter();
  if (nodes.has(to)) fail('EEXIST', 'link', to);
  nodes.set(to, find(from, 'link'));
}

export function renameSync(from: string, to: string): void {
  enter();
  const node = find(from, 'rename');
  nodes.delete(from);
  nodes.set(to, node);
}

export function unlinkSync(path: string): void {
  enter();
  find(path, 'unlink');
  nodes.delete(path);
}

export function rmSync(path: string, options: { readonly force?: boolean } = {}): void {
  enter();
  if (!nodes.delete(path) && !options.force) fail('ENOENT', 'rm', path);
}

export function existsSync(path: string): boolean {
  enter();
  return nodes.has(path);
}

export function accessSync(path: string): void {
  enter();
  find(path, 'access');
}

export function readFileSync(path: string, encoding?: string | { readonly encoding?: string }): Buffer | string {
  enter();
  const bytes = Buffer.from(contentOf(find(path, 'open')));
  const name = typeof encoding === 'string' ? encoding : encoding?.encoding;
  return name ? bytes.toString(name as BufferEncoding) : bytes;
}

export function writeFileSync(path: string, data: string | Uint8Array, options?: { readonly mode?: number }): void {
  const fd = openSync(path, 'w', options?.mode);
  try {
    // Does not report that a full disk cut the write short (docs/architecture.md, conf).
    writeSync(fd, typeof data === 'string' ? Buffer.from(data) : data);
  } finally {
    closeSync(fd);
  }
}

export function copyFileSync(from: string, to: string): void {
  writeFileSync(to, readFileSync(from) as Buffer);
}

export function chmodSync(path: string, mode: number): void {
  enter();
  find(path, 'chmod').mode = mode;
}

export function readlinkSync(path: string): string {
  return fail('EINVAL', 'readlink', path);
}

export function createWriteStream(path: string): never {
  return fail('ENOSYS', 'open', path);
}

const known: Readonly<Record<string, unknown>> = {
  constants,
  openSync,
  closeSync,
  readSync,
  writeSync,
  fstatSync,
  statSync,
  lstatSync,
  statfsSync,
  fsyncSync,
  fdatasync,
  mkdirSync,
  readdirSync,
  linkSync,
  renameSync,
  unlinkSync,
  rmSync,
  existsSync,
  accessSync,
  readFileSync,
  writeFileSync,
  copyFileSync,
  chmodSync,
  readlinkSync,
  ftruncateSync: () => undefined,
  chownSync: () => undefined,
  fchmodSync: () => undefined,
};

/** The default export for packages; a function that is not simulated fails when it is called. */
export const everything = new Proxy(known, {
  get: (target, name) => target[String(name)] ?? (() => fail('ENOSYS', String(name), '')),
});
