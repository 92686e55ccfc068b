// The build: one ESM bundle with splitting, so that what is lazy in the source stays lazy. `node esbuild.config.mjs [DIR]`
import { execFileSync } from 'node:child_process';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from 'esbuild';

const outdir = process.argv[2] ?? 'dist';
const { version } = JSON.parse(await readFile('package.json', 'utf8'));

// Parts of undici that its HTTP/1.1 client names but this program never reaches: HTTP/2 is off, bodies are bytes.
const UNREACHED = /undici[\\/]lib[\\/](?:dispatcher[\\/]client-h2|web[\\/]fetch[\\/]body)\.js$/;
const leaveOut = {
  name: 'leave-out',
  setup: ({ onLoad }) => onLoad({ filter: UNREACHED }, () => ({ contents: 'module.exports = {};' })),
};

await rm(outdir, { recursive: true, force: true });
const { metafile } = await build({
  entryPoints: { main: 'src/main.ts' },
  outdir,
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.18',
  minify: true,
  metafile: true,
  define: { __VERSION__: JSON.stringify(version) },
  legalComments: 'none',
  chunkNames: 'chunks/[name]-[hash]',
  // CommonJS packages inside the bundle still call require() for Node's own modules.
  banner: {
    js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);",
  },
  plugins: [leaveOut],
});
await writeFile(join(outdir, 'THIRD-PARTY-LICENSES.txt'), await licences(Object.keys(metafile.inputs)));
await writePages();

// The manual page and the reference come from the command tree of the program just built.
async function writePages() {
  const contents = "export { toMan } from './man.ts'; export { toMarkdown } from './markdown.ts';";
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: 'src/reference', loader: 'ts' },
    bundle: true,
    format: 'esm',
    write: false,
  });
  const code = Buffer.from(outputFiles[0].contents).toString('base64');
  const { toMan, toMarkdown } = await import(`data:text/javascript;base64,${code}`);
  const tree = JSON.parse(execFileSync(process.execPath, [join(outdir, 'main.js'), 'help', '--json']));
  await writeFile(join(outdir, 'petstore.1'), toMan(tree, version));
  await writeFile(join(outdir, 'reference.md'), toMarkdown(tree));
}

// Whoever ships a package's code ships its licence.
async function licences(inputs) {
  const folders = new Set(inputs.flatMap((file) => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? []));
  const texts = await Promise.all([...folders].sort().map(licenceOf));
  return `petstore-cli holds code of these packages.\n\n${texts.join('\n')}`;
}

async function licenceOf(folder) {
  const about = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
  const file = (await readdir(folder)).find((name) => /^licen[sc]e/i.test(name));
  const text = file ? await readFile(join(folder, file), 'utf8') : 'No licence file is in the package.\n';
  return `${'='.repeat(80)}\n${about.name} ${about.version} (${about.license})\n${'='.repeat(80)}\n\n${text}`;
}
