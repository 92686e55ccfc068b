// Compiles one TypeScript module for child processes of a test, since Node 20 runs no TypeScript.
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildSync } from 'esbuild';

const done = new Map<string, string>();

/**
 * @param entry the module's path from the project's root, for example `src/log/append.ts`
 * @returns the path of a bundled `.mjs` with the same exports
 */
export function compile(entry: string): string {
  const known = done.get(entry);
  if (known) return known;
  const outfile = join(mkdtempSync(join(tmpdir(), 'petstore-compiled-')), 'module.mjs');
  buildSync({
    entryPoints: [entry],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    banner: {
      js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);",
    },
  });
  done.set(entry, outfile);
  return outfile;
}
