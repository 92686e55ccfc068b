// Compiles a TypeScript module for child processes, since Node.js 20 does not run TypeScript.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { buildSync } from 'esbuild';
import { tempDir } from './temp-dir.ts';

/**
 * @param entry relative to the project, for example `src/shared-log/log.ts`
 * @returns the file URL of a bundled `.cjs` with the same exports
 */
export function compile(entry: string): string {
  const outfile = join(tempDir(), 'module.cjs');
  buildSync({ entryPoints: [entry], outfile, bundle: true, platform: 'node', format: 'cjs' });
  return pathToFileURL(outfile).href;
}
