// Runs once before all tests: creates a directory for temporary files and builds the program in it.
import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { MISSING, missingPrograms } from './programs.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The built program, `…/bin/petstore.js`. */
    bin: string;
  }
}

export function setup(project: TestProject): () => void {
  // CI on Windows does not install these programs.
  if (process.env['CI'] && process.platform !== 'win32' && MISSING.length > 0)
    throw new Error(`in CI, tests need ${missingPrograms()}`);
  // The path of the temporary directory has a symbolic link on macOS and a short name (RUNNER~1) on Windows.
  const root = realpathSync.native(mkdtempSync(join(tmpdir(), 'petstore-run-')));
  // Some tests run the program as another user.
  chmodSync(root, 0o755);
  for (const name of ['TMPDIR', 'TEMP', 'TMP']) process.env[name] = root;
  const program = join(root, 'program');
  for (const part of ['bin', 'package.json']) cpSync(part, join(program, part), { recursive: true });
  try {
    execFileSync(process.execPath, ['build.mjs', join(program, 'dist')], { stdio: ['ignore', 'ignore', 'inherit'] });
  } catch {
    // A failed build fails only the tests of the built program.
  }
  project.provide('bin', join(program, 'bin', 'petstore.js'));
  return () => rmSync(root, { recursive: true, force: true });
}
