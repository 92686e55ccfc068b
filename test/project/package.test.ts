// The installed package: content of the tarball, no dependencies, and a program that runs.
import { chmodSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import type { Installed } from '../support/installed.ts';
import { exec, installPackage, PROJECT } from '../support/installed.ts';
import { tempDir } from '../support/temp-dir.ts';

let packed: Installed['packed'];
let directory: string;
let installed: string;
let env: Installed['env'];
beforeAll(async () => {
  ({ packed, directory, env } = await installPackage());
  installed = join(directory, 'node_modules', 'petstore-cli');
}, 120_000);

test('the tarball contains only the program, its types, its manual and its licenses, in less than 2 MB', () => {
  const kinds = packed.files.map(({ path }) =>
    path
      .replace(/^dist\/chunks\/.*\.(cjs|mjs)$/, 'dist/chunks/*.$1')
      .replace(/^dist\/types\/.*\.d\.ts$/, 'dist/types/*.d.ts')
      .replace(/^dist\/(client|sandbox)\./, 'dist/MODULE.'),
  );
  expect([...new Set(kinds)].sort()).toEqual([
    'CHANGELOG.md',
    'LICENSE',
    'README.md',
    'bin/package.json',
    'bin/petstore.js',
    'dist/MODULE.cjs',
    'dist/MODULE.d.mts',
    'dist/MODULE.mjs',
    'dist/THIRD-PARTY-LICENSES.txt',
    'dist/chunks/*.cjs',
    'dist/chunks/*.mjs',
    'dist/main.cjs',
    'dist/petstore.1',
    'dist/types/*.d.ts',
    'dist/types/package.json',
    'package.json',
  ]);
  expect(packed.unpackedSize).toBeLessThan(2_000_000);
});

test('the package has no dependencies', () => {
  expect(readdirSync(join(directory, 'node_modules')).filter((name) => !name.startsWith('.'))).toEqual([
    'petstore-cli',
  ]);
});

// npm warns about a package with install scripts; `npm ci` in a clone needs `prepare`.
test('`npm pack` leaves no install script in the package, and package.json as it was', async () => {
  const dir = tempDir();
  const about = JSON.parse(readFileSync(join(PROJECT, 'package.json'), 'utf8'));
  const text = `${JSON.stringify({ ...about, scripts: { ...about.scripts, build: 'node -v' } }, null, 2)}\n`;
  writeFileSync(join(dir, 'package.json'), text);
  await exec('npm', ['pack', '--silent'], { cwd: dir });
  expect(readFileSync(join(dir, 'package.json'), 'utf8')).toBe(text);
  const { stdout } = await exec('tar', ['-xzOf', `petstore-cli-${about.version}.tgz`, 'package/package.json'], {
    cwd: dir,
  });
  const { scripts, dependencies } = JSON.parse(stdout);
  expect(dependencies).toBeUndefined();
  for (const name of ['preinstall', 'install', 'postinstall', 'prepare']) expect(scripts).not.toHaveProperty(name);
});

test('the package contains the licenses of undici and its llhttp', () => {
  const text = readFileSync(join(installed, 'dist', 'THIRD-PARTY-LICENSES.txt'), 'utf8');
  expect(text).toContain('undici');
  expect(text).toContain('Copyright Fedor Indutny, 2018.');
});

test('a global installation includes the program and the manual page', async () => {
  const prefix = join(directory, 'global');
  const options = ['--prefix', prefix, '--offline', '--no-audit', '--no-fund'];
  await exec('npm', ['install', '--global', ...options, join(directory, packed.filename)], { cwd: directory });
  expect(readFileSync(join(prefix, 'share', 'man', 'man1', 'petstore.1'), 'utf8')).toContain('.TH');
  const { stdout } = await exec(join(prefix, 'bin', 'petstore'), ['--version'], { env });
  expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
});

test('petstore creates and lists categories from a read-only installation', async () => {
  for (const entry of readdirSync(installed, { recursive: true, encoding: 'utf8' }))
    chmodSync(join(installed, entry), 0o555);
  const petstore = join(directory, 'node_modules', '.bin', 'petstore');
  await exec(petstore, ['-p', 'sandbox', 'categories', 'create', '--name', 'dog'], { env, cwd: directory });
  const { stdout } = await exec(petstore, ['-p', 'sandbox', 'categories', 'list', '--json'], { env, cwd: directory });
  expect(JSON.parse(stdout)).toEqual([{ id: 1, name: 'dog' }]);
});
