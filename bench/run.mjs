// Runs one benchmark: `npm run bench -- NAME [ARGS]`. Builds the program, compiles bench/NAME.ts, and calls its
// `run`. PETSTORE_BIN names another built program (…/bin/petstore.js) to measure.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { rolldown } from 'rolldown';

const [name = '', ...args] = process.argv.slice(2);
const entry = `bench/${name}.ts`;
if (!/^[a-z-]+$/.test(name) || !existsSync(entry)) {
  const isBenchmark = (file) => readFileSync(`bench/${file}`, 'utf8').includes('\nexport async function run(');
  const names = readdirSync('bench')
    .filter(isBenchmark)
    .map((file) => file.replace('.ts', ''));
  process.stderr.write(`usage: npm run bench -- ${names.join('|')} [arguments]\n`);
  process.exit(2);
}
if (!process.env.PETSTORE_BIN) execFileSync(process.execPath, ['build.mjs'], { stdio: 'inherit' });
const outfile = `${process.cwd()}/node_modules/.cache/petstore-bench/${name}.mjs`;
const bundle = await rolldown({ input: entry, platform: 'node', external: /^[^./]/ });
await bundle.write({ file: outfile, format: 'esm', codeSplitting: false });
// All temporary files of the benchmark are in one directory, which is removed at the end.
process.env.TMPDIR = mkdtempSync(join(tmpdir(), 'petstore-bench-'));
try {
  const { run } = await import(pathToFileURL(outfile).href);
  await run(args);
} finally {
  rmSync(process.env.TMPDIR, { recursive: true, force: true });
}
// Exit explicitly: a connection of a killed client may still be open.
process.exit();
