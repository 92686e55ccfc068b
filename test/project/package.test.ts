// The installed package: content of the tarball, no dependencies, and a program that runs.
import { chmodSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import type { Installed } from '../support/installed.ts';
import { exec, installPackage, PROJECT } from '../support/installed.ts';
import { tempDir } from '../support/temp-dir.ts';

let packed: Installed['packed'];
let directory: string;
let env: Installed['env'];
beforeAll(async () => {
  ({ packed, directory, env } = await installPackage());
}, 120_000);

test('the package has less than 2 MB, no dependencies, and only the program, its types, manual and licenses', () => {
  const kinds = packed.files.map(({ path }) =>
    path.replace(/^dist\/(chunks|types)\/.*(\.[cm]?js|\.d\.ts)$/, 'dist/$1/*$2').replace(/(client|sandbox)\./, '*.'),
  );
  const top = ['CHANGELOG.md', 'LICENSE', 'README.md', 'package.json', 'bin/package.json', 'bin/petstore.js'];
  const dist = '*.cjs *.mjs *.d.mts main.cjs chunks/*.cjs chunks/*.mjs types/*.d.ts types/package.json';
  const files = [...dist.split(' '), 'THIRD-PARTY-LICENSES.txt', 'petstore.1'].map((name) => `dist/${name}`);
  expect([...new Set(kinds)].sort()).toEqual([...top, ...files].sort());
  expect(packed.unpackedSize).toBeLessThan(2_000_000);
  const modules = join(directory, 'node_modules');
  expect(readdirSync(modules).filter((name) => !name.startsWith('.'))).toEqual(['petstore-cli']);
  const licenses = readFileSync(join(modules, 'petstore-cli/dist/THIRD-PARTY-LICENSES.txt'), 'utf8');
  for (const part of ['undici', 'Copyright Fedor Indutny, 2018.']) expect(licenses).toContain(part);
});

// npm warns about a package with install scripts; `npm ci` in a clone needs `prepare`.
test('`npm pack` leaves no install script in the package, and package.json as it was', async () => {
  const dir = tempDir();
  const about = JSON.parse(readFileSync(join(PROJECT, 'package.json'), 'utf8'));
  const text = `${JSON.stringify({ ...about, scripts: { ...about.scripts, build: 'node -v' } }, null, 2)}\n`;
  writeFileSync(join(dir, 'package.json'), text);
  await exec('npm', ['pack', '--silent'], { cwd: dir });
  expect(readFileSync(join(dir, 'package.json'), 'utf8')).toBe(text);
  const tar = ['-xzOf', `petstore-cli-${about.version}.tgz`, 'package/package.json'];
  const { scripts, dependencies } = JSON.parse((await exec('tar', tar, { cwd: dir })).stdout);
  expect(dependencies).toBeUndefined();
  for (const name of ['preinstall', 'install', 'postinstall', 'prepare']) expect(scripts).not.toHaveProperty(name);
});

test('petstore creates and lists categories from a read-only global installation, which has a manual page', async () => {
  const prefix = join(directory, 'global');
  const options = ['--prefix', prefix, '--offline', '--no-audit', '--no-fund'];
  await exec('npm', ['install', '--global', ...options, join(directory, packed.filename)], { cwd: directory });
  expect(readFileSync(join(prefix, 'share', 'man', 'man1', 'petstore.1'), 'utf8')).toContain('.TH');
  const installed = join(prefix, 'lib', 'node_modules', 'petstore-cli');
  for (const entry of readdirSync(installed, { recursive: true, encoding: 'utf8' }))
    chmodSync(join(installed, entry), 0o555);
  const categories = async (...args: readonly string[]): Promise<string> =>
    (await exec(join(prefix, 'bin', 'petstore'), ['-p', 'sandbox', 'categories', ...args], { env })).stdout;
  await categories('create', '--name', 'dog');
  expect(JSON.parse(await categories('list', '--json'))).toEqual([{ id: 1, name: 'dog' }]);
});
