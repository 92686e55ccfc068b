// The disks of a world: a temporary directory with one subdirectory per machine.
import { closeSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Contains the home directory of each machine. */
export const root = mkdtempSync(join(tmpdir(), 'petstore-worlds-'));

/** The descriptors that the program has open, with their paths. */
export const openFiles = new Map<number, string>();

/** Empties all disks, and closes the files that killed processes left open. */
export function formatDisks(): void {
  removeDisks();
  mkdirSync(root);
}

export function removeDisks(): void {
  for (const fd of openFiles.keys()) closeSync(fd);
  openFiles.clear();
  rmSync(root, { recursive: true, force: true });
}

/** Every file of all machines, for the invariants. */
export function* files(): Generator<[path: string, bytes: Buffer]> {
  const all = readdirSync(root, { recursive: true, withFileTypes: true });
  for (const one of all.filter((entry) => entry.isFile())) {
    const path = join(one.parentPath, one.name);
    yield [path, readFileSync(path)];
  }
}
