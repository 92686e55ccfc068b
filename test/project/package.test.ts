// The installed package: content of the tarball, no dependencies, and a program that runs.
import { execFile } from 'node:child_process';
import { chmodSync, cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { beforeAll, expect, test } from 'vitest';
import { place } from '../support/processes.ts';
import { BIN } from '../support/program.ts';
import { tempDir } from '../support/temp-dir.ts';

const exec = promisify(execFile);
const project = join(import.meta.dirname, '../..');
const at = place();
// A path with a space.
const directory = join(tempDir(), 'my package');
const prefix = join(directory, 'global');
const modules = join(prefix, 'lib', 'node_modules');
const installed = join(modules, 'petstore-cli');

let about: string;
let packed: { filename: string; files: { path: string }[]; unpackedSize: number };
beforeAll(async () => {
  cpSync(join(BIN, '../..'), directory, { recursive: true });
  for (const name of ['README.md', 'LICENSE', 'CHANGELOG.md']) cpSync(join(project, name), join(directory, name));
  // The package is built already.
  const { scripts, ...more } = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8'));
  about = `${JSON.stringify({ ...more, scripts: { ...scripts, build: 'node -v' } }, null, 2)}\n`;
  writeFileSync(join(directory, 'package.json'), about);
  const { stdout } = await exec('npm', ['pack', '--json', '--foreground-scripts=false'], { cwd: directory });
  [packed] = JSON.parse(stdout);
  const options = ['--prefix', prefix, '--offline', '--no-audit', '--no-fund'];
  await exec('npm', ['install', '--global', ...options, join(directory, packed.filename)], { cwd: directory });
}, 120_000);

test('the package is smaller than 2 MB, and has no dependencies and only the program, its types, manual, licenses and SBOM', () => {
  const kinds = packed.files.map(({ path }) =>
    path.replace(/^dist\/(chunks|types)\/.*(\.[cm]?js|\.d\.ts)$/, 'dist/$1/*$2').replace(/(client|sandbox)\./, '*.'),
  );
  const top = ['CHANGELOG.md', 'LICENSE', 'README.md', 'package.json', 'bin/package.json', 'bin/petstore.js'];
  const dist = '*.cjs *.mjs *.d.mts main.cjs chunks/*.cjs chunks/*.mjs types/*.d.ts types/package.json';
  const files = [...dist.split(' '), 'THIRD-PARTY-LICENSES.txt', 'petstore.1', 'sbom.cdx.json'].map(
    (name) => `dist/${name}`,
  );
  expect([...new Set(kinds)].sort()).toEqual([...top, ...files].sort());
  expect(packed.unpackedSize).toBeLessThan(2_000_000);
  expect(readdirSync(modules)).toEqual(['petstore-cli']);
  expect(readdirSync(installed)).not.toContain('node_modules');
  const licenses = readFileSync(join(installed, 'dist/THIRD-PARTY-LICENSES.txt'), 'utf8');
  for (const part of ['undici', 'Copyright Fedor Indutny, 2018.']) expect(licenses).toContain(part);
});

// Ctrl-C during a pack would keep an edit. npm warns about a package with install scripts.
test('`npm pack` packs package.json as it is, without an install script', () => {
  const shipped = readFileSync(join(installed, 'package.json'), 'utf8');
  expect([shipped, readFileSync(join(directory, 'package.json'), 'utf8')]).toEqual([about, about]);
  const { scripts, dependencies } = JSON.parse(shipped);
  expect(dependencies).toBeUndefined();
  for (const name of ['preinstall', 'install', 'postinstall', 'prepublish', 'prepare'])
    expect(scripts).not.toHaveProperty(name);
});

test('the SBOM lists the name and version of each bundled package', async () => {
  const { metafile } = await build({
    entryPoints: ['main.ts', 'client.ts', 'sandbox/start.ts'].map((name) => join(project, 'src', name)),
    bundle: true,
    write: false,
    metafile: true,
    platform: 'node',
    format: 'esm',
    splitting: true,
    outdir: 'none',
    mainFields: ['module', 'main'],
    // A stub replaces it.
    external: ['ajv', 'ajv-formats'],
    absWorkingDir: project,
  });
  const directories = Object.keys(metafile.inputs).flatMap(
    (file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? [],
  );
  const bundled = Array.from(new Set(directories), (path) => {
    const { name, version } = JSON.parse(readFileSync(join(project, path, 'package.json'), 'utf8'));
    return `pkg:npm/${name.replace('@', '%40')}@${version}`;
  });
  const { components } = JSON.parse(readFileSync(join(installed, 'dist/sbom.cdx.json'), 'utf8'));
  expect(bundled.length).toBeGreaterThan(20);
  expect(components.map(({ purl }: { purl: string }) => purl).sort()).toEqual(bundled.sort());
});

test('petstore creates and lists categories from a read-only global installation, which has a manual page', async () => {
  expect(readFileSync(join(prefix, 'share', 'man', 'man1', 'petstore.1'), 'utf8')).toContain('.TH');
  for (const entry of readdirSync(installed, { recursive: true, encoding: 'utf8' }))
    chmodSync(join(installed, entry), 0o555);
  const categories = async (...args: readonly string[]): Promise<string> =>
    (await exec(join(prefix, 'bin', 'petstore'), ['-p', 'sandbox', 'categories', ...args], { env: at.env })).stdout;
  await categories('create', '--name', 'dog');
  expect(JSON.parse(await categories('list', '--json'))).toEqual([{ id: 1, name: 'dog' }]);
});
