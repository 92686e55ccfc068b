// `node:fs` on real files in a temporary directory, one subdirectory per machine. A process can die during a write or a rotation,
// and a dead process cannot use files.
import * as fs from 'node:fs';
import { openFiles } from '../disks.ts';
import type { SimulatedProcess } from '../scheduler.ts';
import { currentProcess, KilledError } from '../scheduler.ts';
import { surroundings } from './world.ts';

function openFile(path: string, flags?: fs.OpenMode, mode?: fs.Mode): number {
  const fd = fs.openSync(path, flags ?? 'r', mode);
  openFiles.set(fd, path);
  return fd;
}

function closeFile(fd: number): void {
  openFiles.delete(fd);
  fs.closeSync(fd);
}

// Always appends: the program writes only logs and new files through a descriptor.
function write(fd: number, data: Uint8Array | string, offset = 0, length?: number): number {
  const all = typeof data === 'string' ? Buffer.from(data) : data;
  const bytes = all.subarray(offset, offset + (typeof length === 'number' ? length : all.length));
  const caller = currentProcess();
  if (!caller?.diesWriting) return fs.writeSync(fd, bytes);
  fs.writeSync(fd, bytes, 0, cut(bytes.length));
  return die(caller);
}

// Often cuts within or just after the first two bytes: the guard that begins each write to a log.
function cut(length: number): number {
  const { random } = surroundings().scheduler;
  return random() < 0.6 ? Math.floor(random() * 3) : Math.floor(random() * (length + 1));
}

const replaced = {
  ...fs,
  openSync: openFile,
  writeSync: write,
  // Without `sort`, the order of names depends on the machine that runs the simulation.
  readdirSync: (path: string) => fs.readdirSync(path).sort(),
};

// The seal of a log, the creation of its next segment, the snapshot in it and the removal of old files.
function isRotation(name: string, [target, data]: readonly unknown[]): boolean {
  const path = typeof target === 'number' ? (openFiles.get(target) ?? '') : String(target);
  if (!/\/(?:quota|imports)\//.test(path)) return false;
  if (name === 'writeSync') return /#(?:seal|snapshot)/.test(String(data));
  if (name === 'openSync') return (Number(data) & fs.constants.O_CREAT) !== 0;
  return name === 'unlinkSync';
}

function die(caller: SimulatedProcess): never {
  surroundings().kill(caller);
  throw new KilledError();
}

type Call = (...args: unknown[]) => unknown;
const guarded = Object.entries(replaced).map(([name, value]) => {
  const call: Call = (...args) => {
    const caller = currentProcess();
    if (caller?.dead) throw new KilledError();
    const result = (value as unknown as Call)(...args);
    if (caller?.diesRotating && isRotation(name, args) && surroundings().scheduler.random() >= 0.6) die(caller);
    return result;
  };
  return [name, name.endsWith('Sync') ? call : value];
});

/** The default export for packages. */
export const everything = { ...Object.fromEntries(guarded), closeSync: closeFile } as typeof fs;
export const { accessSync, chmodSync, closeSync, constants, copyFileSync, createWriteStream, existsSync } = everything;
export const { fstatSync, fsyncSync, linkSync, mkdirSync, openSync, readdirSync, readFileSync } = everything;
export const { readlinkSync, readSync, realpathSync, renameSync, rmSync, statSync, unlinkSync } = everything;
export const { writeFileSync, writeSync } = everything;
