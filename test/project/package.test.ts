// The package as users get it: content of the tarball, no dependencies, runs and compiles after installation.
import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, expect, test } from 'vitest';
import { BASE_ENV } from '../support/processes.ts';
import { BIN } from '../support/program.ts';
import { tempDir } from '../support/temp-dir.ts';

const exec = promisify(execFile);
const project = join(import.meta.dirname, '../..');
// With a space in the path.
const folder = join(tempDir(), 'my projects');
const installed = join(folder, 'node_modules', 'petstore-cli');
const home = join(folder, 'home');
const env = {
  ...BASE_ENV,
  HOME: home,
  PETSTORE_STATE_DIR: join(home, 's'),
  PETSTORE_CONFIG_DIR: join(home, 'c'),
};

interface Packed {
  readonly filename: string;
  readonly files: readonly { readonly path: string }[];
  readonly size: number;
  readonly unpackedSize: number;
}
let packed: Packed;

const typeRoots = [join(project, 'node_modules', '@types')];

// Output of the compiler for a file that uses the installed package.
async function compiled(file: string, more: object): Promise<string> {
  const options = { strict: true, module: 'nodenext', target: 'es2023', noEmit: true, ...more };
  const config = join(folder, `tsconfig.${file}.json`);
  writeFileSync(config, JSON.stringify({ compilerOptions: options, files: [file] }));
  const tsc = join(project, 'node_modules', 'typescript', 'bin', 'tsc');
  return await exec(process.execPath, [tsc, '-p', config]).then(
    ({ stdout }) => stdout,
    ({ stdout }: { stdout: string }) => stdout || 'the compiler failed',
  );
}

beforeAll(async () => {
  mkdirSync(home, { recursive: true });
  // Packs the build of this test run, not dist/.
  const built = dirname(dirname(BIN));
  for (const name of ['README.md', 'LICENSE', 'CHANGELOG.md']) {
    writeFileSync(join(built, name), readFileSync(join(project, name)));
  }
  const { stdout } = await exec('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', folder], {
    cwd: built,
  });
  packed = (JSON.parse(stdout) as [Packed])[0];
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  await exec('npm', ['install', '--offline', '--no-audit', '--no-fund', join(folder, packed.filename)], {
    cwd: folder,
  });
}, 120_000);

test('the tarball holds the program, its types, its manual and its licences, and nothing else', () => {
  const kinds = packed.files.map(({ path }) =>
    path
      .replace(/^dist\/chunks\/.*\.cjs$/, 'dist/chunks/*.cjs')
      .replace(/^dist\/chunks\/client.*\.js$/, 'dist/chunks/client*.js')
      .replace(/^dist\/types\/.*\.d\.ts$/, 'dist/types/*.d.ts'),
  );
  expect([...new Set(kinds)].sort()).toEqual([
    'CHANGELOG.md',
    'LICENSE',
    'README.md',
    'bin/package.json',
    'bin/petstore.js',
    'dist/THIRD-PARTY-LICENSES.txt',
    'dist/chunks/*.cjs',
    'dist/chunks/client*.js',
    'dist/client.js',
    'dist/main.cjs',
    'dist/petstore.1',
    'dist/types/*.d.ts',
    'package.json',
  ]);
  expect(packed.unpackedSize).toBeLessThan(2_000_000);
});

test('one package is installed, and it has no install scripts', () => {
  expect(readdirSync(join(folder, 'node_modules')).filter((name) => !name.startsWith('.'))).toEqual(['petstore-cli']);
  const { dependencies, scripts } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'));
  expect(dependencies).toBeUndefined();
  for (const name of ['preinstall', 'install', 'postinstall']) expect(scripts).not.toHaveProperty(name);
});

test('the licences of all code inside are in the package, llhttp of undici among them', () => {
  const text = readFileSync(join(installed, 'dist', 'THIRD-PARTY-LICENSES.txt'), 'utf8');
  expect(text).toContain('undici');
  expect(text).toContain('Copyright Fedor Indutny, 2018.');
});

test('a global installation includes the manual page', async () => {
  const prefix = join(folder, 'global');
  const options = ['--prefix', prefix, '--offline', '--no-audit', '--no-fund'];
  await exec('npm', ['install', '--global', ...options, join(folder, packed.filename)], { cwd: folder });
  expect(readFileSync(join(prefix, 'share', 'man', 'man1', 'petstore.1'), 'utf8')).toContain('.TH');
  const { stdout } = await exec(join(prefix, 'bin', 'petstore'), ['--version'], { env });
  expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
});

test('it creates and lists from a read-only installation', async () => {
  for (const entry of readdirSync(installed, { recursive: true, encoding: 'utf8' }))
    chmodSync(join(installed, entry), 0o555);
  const petstore = join(folder, 'node_modules', '.bin', 'petstore');
  await exec(petstore, ['-p', 'sandbox', 'categories', 'create', '--name', 'dog'], { env, cwd: folder });
  const { stdout } = await exec(petstore, ['-p', 'sandbox', 'categories', 'list', '--json'], { env, cwd: folder });
  expect(JSON.parse(stdout)).toEqual([{ id: 1, name: 'dog' }]);
});

test('a program compiles against the types in strict mode', async () => {
  writeFileSync(
    join(folder, 'use.ts'),
    `import { createClient, PetstoreError, type Category } from 'petstore-cli';
const client = createClient({ baseUrl: 'http://127.0.0.1:1/v1', apiKey: 'k_0123456789' });
const all: readonly Category[] = await client.categories.list().catch((error: unknown) => {
  if (error instanceof PetstoreError && error.kind === 'network') return [];
  throw error;
});
const ids: (number | bigint)[] = all.map(({ id }) => id);
// @ts-expect-error a name is required
await client.categories.create({});
console.log(ids.length, client.quota().inFlight);
`,
  );
  expect(await compiled('use.ts', { types: ['node'], typeRoots, exactOptionalPropertyTypes: true })).toBe('');
});

test("the README's program compiles, and without a key ends with an auth error", async () => {
  const readme = readFileSync(join(project, 'README.md'), 'utf8');
  const program = /```ts\n([\s\S]*?)```/.exec(readme)?.[1] ?? '';
  expect(program).toContain('createClient');
  writeFileSync(join(folder, 'readme.ts'), program);
  expect(await compiled('readme.ts', { types: ['node'], typeRoots })).toBe('');
  writeFileSync(join(folder, 'readme.js'), program);
  const caught = "import('./readme.js').catch((error) => console.log(error.name, error.kind, error.message))";
  const { stdout } = await exec(process.execPath, ['-e', caught], { env, cwd: folder });
  expect(stdout).toBe('PetstoreError auth the API key from apiKey is missing\n');
});

test('the types do not need @types/node or skipLibCheck', async () => {
  writeFileSync(
    join(folder, 'bare.ts'),
    `import { type Client, createClient } from 'petstore-cli';
const client: Client = createClient({ baseUrl: 'https://pets.example/v1', apiKey: 'k_0123456789' });
export const names: Promise<string[]> = client.categories.list().then((all) => all.map(({ name }) => name));
`,
  );
  const bare = { types: [], typeRoots: [], lib: ['es2022', 'dom'], target: 'es2022', skipLibCheck: false };
  expect(await compiled('bare.ts', bare)).toBe('');
});
