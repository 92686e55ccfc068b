// Builds the program once for a test run, into a folder of its own, so that runs side by side do not disturb each other.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    /** The built program, `…/bin/petstore.js`. */
    bin: string;
  }
}

export function setup(project: TestProject): () => void {
  const dir = mkdtempSync(join(tmpdir(), 'petstore-build-'));
  for (const part of ['bin', 'package.json']) cpSync(part, join(dir, part), { recursive: true });
  try {
    execFileSync(process.execPath, ['build.mjs', join(dir, 'dist')], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
  } catch {
    // Tests of the built program then fail, each with its name; those of the parts still say what they have to.
  }
  project.provide('bin', join(dir, 'bin', 'petstore.js'));
  return () => rmSync(dir, { recursive: true, force: true });
}
