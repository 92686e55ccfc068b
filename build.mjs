// Builds the program, the client library with its types, and the licenses and list of bundled packages:
// `node build.mjs [DIR]`.
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { join } from 'node:path';
import { rolldown } from 'rolldown';
import { esmExternalRequirePlugin } from 'rolldown/plugins';

const outdir = process.argv[2] ?? 'dist';
const about = JSON.parse(readFileSync('package.json', 'utf8'));

/** The modules of the library that programs import. */
const LIBRARY = { client: 'src/client.ts', sandbox: 'src/sandbox/start.ts' };
/** Further modules that the types of the library need. */
const TYPES = ['public-types', 'errors', 'rate-limit/quota'].map((name) => `src/${name}.ts`);

/** Modules that take long to load and are never used, with their replacements. */
const STUBS = {
  // conf gets no schema to validate.
  ajv: 'module.exports = {};',
  'ajv-formats': 'module.exports = {};',
  'ajv/dist/2020.js': 'module.exports = {};',
  // undici runs without it, as on a Node.js that was built without TLS.
  'node:http2': "throw new Error('HTTP/2 is left out');",
};
/** An import of node:http also loads WebSocket, which takes Node 24 another 20 ms and sets a global variable. */
const LIBRARY_STUBS = { ...STUBS, 'node:http': "module.exports = process.getBuiltinModule('node:http');" };

const replacing = (modules) => ({
  name: 'replacing',
  resolveId: (id) => (id in modules ? `\0${id}.cjs` : null),
  load: (id) => modules[id.slice(1, -'.cjs'.length)] ?? null,
});
// Newer built-in modules have only names with `node:`, for example `node:sqlite`.
const builtins = builtinModules
  .flatMap((name) => (name.startsWith('node:') ? [] : [name, `node:${name}`]))
  .filter((name) => !(name in LIBRARY_STUBS));
// Built-in modules that packages require are imported instead, and the neutral platform has no `createRequire`: the
// library can be bundled again, as an ES module or as CommonJS. Two `require` calls for unused features stay.
const library = {
  platform: 'neutral',
  resolve: { mainFields: ['module', 'main'] },
  external: ['node:sqlite', 'supports-color'],
  // The library imports some modules at once that the program loads only when it needs them.
  checks: { ineffectiveDynamicImport: false },
  plugins: [replacing(LIBRARY_STUBS), esmExternalRequirePlugin({ external: builtins })],
};

// Few chunks start faster: finding and reading a file takes 0.3 ms. Each of these includes the modules that it imports.
const GROUPS = [
  { name: 'completion', test: /completion-scripts\.ts$/, priority: 4 },
  { name: 'start', test: /src\/main\.ts$/, priority: 3 },
  { name: 'program', test: /src\/cli\/program\.ts$/, priority: 2 },
  { name: 'service', test: /src\/(?:service|http\/transport|http\/http-client|api\/categories)\.ts$/, priority: 1 },
];

rmSync(outdir, { recursive: true, force: true });
// The program is CommonJS, because Node 20 takes a seventh longer to start with ES modules.
const program = await bundle(
  'cjs',
  { main: 'src/main.ts' },
  { platform: 'node', plugins: [replacing(STUBS)], groups: GROUPS },
);
const packages = bundledPackages([...program, ...(await bundle('mjs', LIBRARY, library))]);
writeFileSync(join(outdir, 'THIRD-PARTY-LICENSES.txt'), licenses(packages));
writeFileSync(join(outdir, 'sbom.cdx.json'), `${JSON.stringify(sbom(packages), null, 2)}\n`);
types();

async function bundle(extension, input, { groups = [], ...how }) {
  const built = await rolldown({
    ...how,
    input,
    preserveEntrySignatures: 'strict',
    transform: { target: 'node20.19', define: { __VERSION__: JSON.stringify(about.version) } },
  });
  await built.write({
    format: extension === 'cjs' ? 'cjs' : 'esm',
    dir: outdir,
    entryFileNames: `[name].${extension}`,
    chunkFileNames: `chunks/[name]-[hash].${extension}`,
    codeSplitting: { groups },
    minify: {
      // Stack traces and console.log show the names of functions and classes.
      compress: { keepNames: { function: true, class: true } },
      mangle: { keepNames: true },
      // Line breaks are kept, because Node prints the source line of an uncaught error.
      codegen: { removeWhitespace: false },
    },
    comments: false,
  });
  return built.watchFiles;
}

function types() {
  const modules = [...Object.values(LIBRARY), ...TYPES];
  const emit = '--ignoreConfig --noResolve --noCheck --declaration --emitDeclarationOnly --stripInternal'.split(' ');
  const how = ['--target', 'es2023', '--module', 'nodenext', '--rootDir', 'src', '--outDir', join(outdir, 'types')];
  execFileSync(process.execPath, ['node_modules/typescript/bin/tsc', ...emit, ...how, ...modules], {
    stdio: 'inherit',
  });
}

/** The package.json of each bundled package, with its directory. */
function bundledPackages(sources) {
  const directories = sources.flatMap((file) => /^.*node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+/.exec(file)?.[0] ?? []);
  return [...new Set(directories)].sort().map((directory) => {
    return { directory, ...JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8')) };
  });
}

// The licenses must be distributed with the code.
function licenses(packages) {
  // undici's WebAssembly is compiled from llhttp, whose license its package does not contain.
  const llhttp = license('llhttp (MIT), part of undici', readFileSync('scripts/licenses/llhttp.txt', 'utf8'));
  const texts = [...packages.map(licenseOf), llhttp];
  return `petstore-cli contains code of these packages.\n\n${texts.join('\n')}`;
}

function licenseOf({ directory, name, version, license: id }) {
  const file = readdirSync(directory).find((entry) => /^licen[sc]e/i.test(entry));
  if (!file) throw new Error(`${name} has no license file: add its text to scripts/licenses`);
  return license(`${name} ${version} (${id})`, readFileSync(join(directory, file), 'utf8'));
}

function license(title, text) {
  return `${'='.repeat(80)}\n${title}\n${'='.repeat(80)}\n\n${text}`;
}

// A software bill of materials in the format of `npm sbom`, which would list development dependencies too. Scanners cannot
// see the packages in a bundle. Without a date and a serial number, the same source gives the same file.
function sbom(packages) {
  const component = ({ name, version, license }, type) => {
    const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`;
    return { 'bom-ref': `${name}@${version}`, type, name, version, purl, licenses: [{ license: { id: license } }] };
  };
  return {
    $schema: 'http://cyclonedx.org/schema/bom-1.5.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    version: 1,
    metadata: { component: component(about, 'application') },
    components: packages.map((one) => component(one, 'library')),
  };
}
