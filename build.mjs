// Builds the program and the client library as chunks that load on use, the client's types, the man page, and the
// licenses of bundled packages: `node build.mjs [DIR]`.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { rolldown } from 'rolldown';
import { manPage } from './scripts/generate-docs.mjs';

const outdir = process.argv[2] ?? 'dist';
const library = join(outdir, 'client');
const { version } = JSON.parse(readFileSync('package.json', 'utf8'));

// We use no schema of conf, and loading its validator takes 15 ms.
const withoutAjv = {
  name: 'without-ajv',
  resolveId: (id) => (/^ajv(?:-formats|\/dist\/2020\.js)$/.test(id) ? `\0${id}.cjs` : null),
  load: (id) => (id.startsWith('\0ajv') ? 'module.exports = {};' : null),
};
const RELATIVE = /(?:from |import\()['"](\.[^'"]+)\.ts['"]/g;

rmSync(outdir, { recursive: true, force: true });
const inputs = await bundle();
writeFileSync(join(outdir, 'THIRD-PARTY-LICENSES.txt'), licenses(inputs));
entries();
types();
manual();

// Program and client library are one build, so that shared code is packaged once. CommonJS, because Node 20 takes a
// seventh longer to start with ES modules.
async function bundle() {
  const built = await rolldown({
    platform: 'node',
    input: { main: 'src/main.ts', client: 'src/client.ts' },
    preserveEntrySignatures: 'strict',
    transform: { target: 'node20.18', define: { __VERSION__: JSON.stringify(version) } },
    plugins: [withoutAjv],
  });
  await built.write({
    format: 'cjs',
    dir: outdir,
    entryFileNames: ({ name }) => (name === 'client' ? 'client/client.js' : '[name].cjs'),
    chunkFileNames: 'chunks/[name]-[hash].cjs',
    // Line breaks are kept, because Node prints the source line of an uncaught error.
    minify: { compress: true, mangle: true, codegen: { removeWhitespace: false } },
    comments: false,
  });
  return built.watchFiles;
}

function entries() {
  writeFileSync(join(library, 'package.json'), '{"type":"commonjs"}\n');
  // One implementation for ES modules and CommonJS, so that both have the same PetstoreError class.
  writeFileSync(join(outdir, 'client.mjs'), "export { createClient, PetstoreError } from './client/client.js';\n");
  writeFileSync(join(outdir, 'client.d.mts'), "export * from './client/client.js';\n");
}

// Keeps only the declarations that the client's own import, and renames .ts to .js in their imports.
function types() {
  const { compilerOptions } = JSON.parse(readFileSync('tsconfig.json', 'utf8'));
  const config = join('node_modules', '.cache', `client-types-${process.pid}.json`);
  const files = ['client.ts', 'http/undici-parts.d.ts'].map((name) => join(process.cwd(), 'src', name));
  mkdirSync(dirname(config), { recursive: true });
  writeFileSync(config, JSON.stringify({ compilerOptions, files }));
  const emit = [
    '--noEmit',
    'false',
    '--stripInternal',
    '--declaration',
    '--emitDeclarationOnly',
    '--rootDir',
    'src',
    '--outDir',
    library,
  ];
  execFileSync(process.execPath, ['node_modules/typescript/bin/tsc', '-p', config, ...emit], { stdio: 'inherit' });
  rmSync(config);
  const kept = new Set();
  const keep = (path) => {
    if (kept.has(path)) return;
    kept.add(path);
    const text = readFileSync(path, 'utf8');
    for (const [, target] of text.matchAll(RELATIVE)) keep(join(dirname(path), `${target}.d.ts`));
    writeFileSync(
      path,
      text.replace(RELATIVE, (found) => found.replace(/\.ts(['"])$/, '.js$1')),
    );
  };
  keep(join(library, 'client.d.ts'));
  for (const name of readdirSync(library, { recursive: true })) {
    const path = join(library, name);
    if (path.endsWith('.d.ts') && !kept.has(path)) rmSync(path);
  }
}

function manual() {
  const reference = execFileSync(process.execPath, [join(outdir, 'main.cjs'), '--help', '--json']);
  writeFileSync(join(outdir, 'petstore.1'), manPage(JSON.parse(reference.toString())));
}

// The licenses must be distributed with the code.
function licenses(files) {
  const directories = new Set(
    files.flatMap((file) => /^.*node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+/.exec(file)?.[0] ?? []),
  );
  // undici's WebAssembly is compiled from llhttp, whose license its package does not contain.
  const llhttp = license('llhttp (MIT), part of undici', readFileSync('scripts/licenses/llhttp.txt', 'utf8'));
  const texts = [...[...directories].sort().map(licenseOf), llhttp];
  return `petstore-cli contains code of these packages.\n\n${texts.join('\n')}`;
}

function licenseOf(directory) {
  const about = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'));
  const file = readdirSync(directory).find((name) => /^licen[sc]e/i.test(name));
  if (!file) throw new Error(`${about.name} has no license file: add its text to scripts/licenses`);
  return license(`${about.name} ${about.version} (${about.license})`, readFileSync(join(directory, file), 'utf8'));
}

function license(title, text) {
  return `${'='.repeat(80)}\n${title}\n${'='.repeat(80)}\n\n${text}`;
}
