// The installed package: content of the tarball, no dependencies, and a program that runs.
import { execFile } from 'node:child_process';
import { chmodSync, cpSync, readdirSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import { join, relative } from 'node:path';
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
const root = join(tempDir(), 'my package');
const prefix = join(root, 'global');
const modules = join(prefix, 'lib', 'node_modules');
const installed = join(modules, 'petstore-cli');
const textOf = (file: string): string => readFileSync(join(installed, file), 'utf8');

beforeAll(async () => {
  const source = join(root, 'source');
  cpSync(join(BIN, '../..'), source, { recursive: true });
  for (const name of ['README.md', 'LICENSE', 'CHANGELOG.md']) cpSync(join(project, name), join(source, name));
  // Installs what `npm pack` would pack.
  const options = ['--install-links', '--prefix', prefix, '--offline', '--no-audit', '--no-fund'];
  await exec('npm', ['install', '--global', ...options, source]);
});

test('the unpacked package is smaller than 2 MB, has no dependencies, and contains only documents, package.json, bin and dist', () => {
  const contents = readdirSync(installed, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const packed = contents.map(({ parentPath, name }) => join(parentPath, name));
  const kinds = packed.map((file) =>
    relative(installed, file)
      .replace(/^dist\/(chunks|types)\/.*(\.[cm]?js|\.d\.ts)$/, 'dist/$1/*$2')
      .replace(/(client|sandbox)\./, '*.'),
  );
  const top = [
    'CHANGELOG.md',
    'LICENSE',
    'README.md',
    'package.json',
    'bin/compile-cache.js',
    'bin/package.json',
    'bin/petstore.js',
  ];
  const dist = '*.mjs main.cjs chunks/*.cjs chunks/*.mjs types/*.d.ts';
  const files = [...dist.split(' '), 'THIRD-PARTY-LICENSES.txt', 'sbom.cdx.json'].map((name) => `dist/${name}`);
  expect([...new Set(kinds)].sort()).toEqual([...top, ...files].sort());
  expect(packed.reduce((sum, file) => sum + statSync(file).size, 0)).toBeLessThan(2_000_000);
  expect(readdirSync(modules)).toEqual(['petstore-cli']);
  expect(readdirSync(installed)).not.toContain('node_modules');
  for (const part of ['undici', 'Copyright Fedor Indutny, 2018.'])
    expect(textOf('dist/THIRD-PARTY-LICENSES.txt')).toContain(part);
});

// npm warns about a package with install scripts, and Ctrl-C during a pack would keep an edit of package.json.
test('package.json is packed as it is, without dependencies or install scripts', () => {
  expect(textOf('package.json')).toBe(readFileSync(join(project, 'package.json'), 'utf8'));
  const { scripts, dependencies } = JSON.parse(textOf('package.json'));
  expect([dependencies, scripts.postprepare, scripts.prepack]).toEqual([undefined, 'node build.mjs', 'node build.mjs']);
  for (const name of ['preinstall', 'install', 'postinstall', 'prepublish', 'prepare', 'postpack'])
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
    // The build replaces these with a stub.
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
  const { components } = JSON.parse(textOf('dist/sbom.cdx.json'));
  expect(bundled.length).toBeGreaterThan(20);
  expect(components.map(({ purl }: { purl: string }) => purl).sort()).toEqual(bundled.sort());
});

test('petstore creates and lists a category even if its global installation is read-only', async () => {
  for (const entry of readdirSync(installed, { recursive: true, encoding: 'utf8' }))
    chmodSync(join(installed, entry), 0o555);
  const categories = async (...args: readonly string[]): Promise<string> =>
    (await exec(join(prefix, 'bin', 'petstore'), ['-p', 'sandbox', 'categories', ...args], { env: at.env })).stdout;
  await categories('create', '--name', 'dog');
  expect(JSON.parse(await categories('list', '--json'))).toEqual([{ id: 1, name: 'dog' }]);
});

test("in a clone without a build, `npm run demo` lists its category, and the user's sandbox stays empty", async () => {
  const clone = join(root, 'clone');
  for (const name of ['bin', 'scripts', 'src', 'build.mjs', 'package.json'])
    cpSync(join(project, name), join(clone, name), { recursive: true });
  symlinkSync(join(project, 'node_modules'), join(clone, 'node_modules'), 'junction');
  const { PATH = '', HOME = '' } = at.env;
  const demo = await exec('npm', ['run', '--silent', 'demo'], { cwd: clone, env: { PATH, HOME } });
  expect(demo.stdout).toContain(' 1  dog   Canis familiaris\n');
  const list = [join(clone, 'bin', 'petstore.js'), 'categories', 'list', '--json', '-p', 'sandbox'];
  expect((await exec(process.execPath, list, { env: { PATH, HOME } })).stdout).toBe('[]\n');
});
