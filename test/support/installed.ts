// The package of this build.
import { execFile } from 'node:child_process';
import { cpSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { BIN } from './program.ts';

export const exec = promisify(execFile);
export const PROJECT = join(import.meta.dirname, '../..');

/** Copies the built package. */
export function copyPackage(directory: string): void {
  cpSync(dirname(dirname(BIN)), directory, { recursive: true });
  for (const name of ['README.md', 'LICENSE', 'CHANGELOG.md']) cpSync(join(PROJECT, name), join(directory, name));
}
