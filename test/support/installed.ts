// The package of this build, and the TypeScript compiler, for tests of the package.
import { execFile } from 'node:child_process';
import { cpSync, writeFileSync } from 'node:fs';
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

/**
 * Compiles files of the project with TypeScript in strict mode.
 * @returns the errors, or an empty string
 */
export async function compileIn(directory: string, files: readonly string[], options: object): Promise<string> {
  const typeRoots = [join(PROJECT, 'node_modules', '@types')];
  const compilerOptions = { strict: true, exactOptionalPropertyTypes: true, target: 'es2022', typeRoots, ...options };
  const config = join(directory, 'tsconfig.json');
  writeFileSync(config, JSON.stringify({ compilerOptions, files }));
  const tsc = join(PROJECT, 'node_modules', 'typescript', 'bin', 'tsc');
  return await exec(process.execPath, [tsc, '-p', config]).then(
    ({ stdout }) => stdout,
    ({ stdout }: { stdout: string }) => stdout || 'the compiler failed',
  );
}
