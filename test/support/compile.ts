// Compiles a TypeScript module for child processes, since Node.js 20 does not run TypeScript.
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { tempDir } from './temp-dir.ts';

// The bundler has no synchronous API; a child process makes it synchronous.
const BUNDLE = `
  const { rolldown } = await import('rolldown');
  const [input, file] = process.argv.slice(1);
  const bundle = await rolldown({ input, platform: 'node' });
  await bundle.write({ file, format: 'esm', codeSplitting: false });
`;

const done = new Map<string, string>();

/**
 * @param entry relative to the project, for example `src/append-log/log.ts`
 * @returns the file URL of a bundled `.mjs` with the same exports
 */
export function compile(entry: string): string {
  const known = done.get(entry);
  if (known) return known;
  const outfile = join(tempDir(), 'module.mjs');
  execFileSync(process.execPath, ['--input-type=module', '-e', BUNDLE, entry, outfile]);
  const url = pathToFileURL(outfile).href;
  done.set(entry, url);
  return url;
}
