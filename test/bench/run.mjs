// Runs one benchmark: `npm run bench -- NAME [ARGS]`. Builds the program, compiles test/bench/NAME.ts, calls its run().
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { rolldown } from 'rolldown';

const [name = '', ...args] = process.argv.slice(2);
const entry = `test/bench/${name}.ts`;
if (!/^[a-z-]+$/.test(name) || !existsSync(entry)) {
  const names = readdirSync('test/bench').flatMap((file) => /^([a-z]+)\.ts$/.exec(file)?.[1] ?? []);
  process.stderr.write(`usage: npm run bench -- ${names.join('|')} [arguments]\n`);
  process.exit(2);
}
execFileSync(process.execPath, ['build.mjs'], { stdio: 'inherit' });
const outfile = `${process.cwd()}/node_modules/.cache/petstore-bench/${name}.mjs`;
const bundle = await rolldown({ input: entry, platform: 'node', external: /^[^./]/ });
await bundle.write({ file: outfile, format: 'esm', codeSplitting: false });
const { run } = await import(pathToFileURL(outfile).href);
await run(args);
