// What each command loads, in files and bytes, so that start-up stays fast.
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { startHttpFake } from '../support/http-fake.ts';
import { place } from '../support/processes.ts';
import { BIN, petstore } from '../support/program.ts';
import { tempDir } from '../support/temp-dir.ts';

const root = dirname(dirname(BIN));

interface Loaded {
  /** Files of the program, without their hashes. */
  readonly files: readonly string[];
  readonly bytes: number;
}

/** Runs a command and asks V8 which scripts it compiled. */
async function load(args: readonly string[], env: Record<string, string> = {}): Promise<Loaded> {
  const coverage = tempDir();
  const result = await petstore(place({ ...env, NODE_V8_COVERAGE: coverage }), args);
  expect(result.code, result.err).toBe(0);
  const urls = readdirSync(coverage).flatMap((file) => {
    const { result: scripts } = JSON.parse(readFileSync(join(coverage, file), 'utf8')) as { result: { url: string }[] };
    return scripts.map(({ url }) => url);
  });
  const files = urls.filter((url) => url.startsWith('file:')).map((url) => fileURLToPath(url));
  const names = files.map((file) =>
    relative(root, file)
      .replaceAll('\\', '/')
      .replace(/-[\w-]{8}\.cjs$/, '.cjs'),
  );
  return { files: names.sort(), bytes: files.reduce((sum, file) => sum + statSync(file).size, 0) };
}

function chunk(name: string): string {
  const chunks = join(root, 'dist', 'chunks');
  return readFileSync(join(chunks, readdirSync(chunks).find((file) => file.startsWith(`${name}-`)) ?? ''), 'utf8');
}

test('--version loads two small files', async () => {
  const { files, bytes } = await load(['--version']);
  expect(files).toEqual(['bin/petstore.js', 'dist/chunks/base.cjs', 'dist/main.cjs']);
  expect(bytes).toBeLessThan(13_000);
});

test('--help loads the command tree, but no HTTP client', async () => {
  const { files, bytes } = await load(['--help']);
  expect(files).not.toContain('dist/chunks/request.cjs');
  expect(files.length).toBeLessThanOrEqual(5);
  expect(bytes).toBeLessThan(120_000);
});

test('a command that sends nothing loads no HTTP client', async () => {
  for (const words of [
    ['commands', '--json'],
    ['complete', 'bash'],
    ['auth', 'status'],
  ]) {
    expect((await load(words)).files, words.join(' ')).not.toContain('dist/chunks/request.cjs');
  }
});

test('list --json loads neither conf, table, chalk, ora, prompts nor the sandbox', async () => {
  const service = await startHttpFake(() => ({ body: [] }));
  const env = { PETSTORE_BASE_URL: service.url, PETSTORE_API_KEY: 'k_0123456789abcdef' };
  const { files, bytes } = await load(['categories', 'list', '--json'], env);
  service.close();
  expect(files).toEqual([
    'bin/petstore.js',
    'dist/chunks/base.cjs',
    'dist/chunks/command.cjs',
    'dist/chunks/request.cjs',
    'dist/chunks/rolldown-runtime.cjs',
    'dist/main.cjs',
  ]);
  expect(bytes).toBeLessThan(395_000);
});

test('a table adds two files, and nothing compiles the emoji pattern of string-width before it is needed', async () => {
  const service = await startHttpFake(() => ({ body: [{ id: 1, name: 'dog' }] }));
  const env = { PETSTORE_BASE_URL: service.url, PETSTORE_API_KEY: 'k_0123456789abcdef' };
  const { files, bytes } = await load(['categories', 'list', '-q'], env);
  service.close();
  expect(files.filter((file) => /chunks/.test(file))).toEqual([
    'dist/chunks/base.cjs',
    'dist/chunks/cell-width.cjs',
    'dist/chunks/command.cjs',
    'dist/chunks/request.cjs',
    'dist/chunks/rolldown-runtime.cjs',
    'dist/chunks/table.cjs',
  ]);
  expect(bytes).toBeLessThan(420_000);
  // Parsed as a literal it takes V8 20 ms.
  expect(chunk('cell-width')).toMatch(/RGI_Emoji\}\$["'`],["'`]v/);
});

test('a request loads neither node:http nor node:https, which only proxies need', () => {
  const request = chunk('request');
  expect(request).toMatch(/require\(["'`]node:net["'`]\)/);
  expect(request).not.toMatch(/[,=]require\(["'`]node:https?["'`]\)/);
});

test('a command loads the client of the state server only where one is configured', async () => {
  const service = await startHttpFake(() => ({ status: 201, body: { id: 1, name: 'dog' } }));
  const env = { PETSTORE_BASE_URL: service.url, PETSTORE_API_KEY: 'k_0123456789abcdef' };
  const create = ['categories', 'create', '--name', 'dog', '--json'];
  const without = await load(create, env);
  const added = await load(create, { ...env, PETSTORE_STATE_URL: 'redis://127.0.0.1:1' });
  service.close();
  const names = added.files.filter((file) => !without.files.includes(file));
  expect(names).toContain('dist/chunks/state-server.cjs');
  expect(names.filter((file) => !/state-(?:server|url)\.cjs$/.test(file))).toEqual([]);
  // Nor does a program that imports the client load it.
  const client = readFileSync(join(root, 'dist', 'chunks', 'client.js'), 'utf8');
  expect(client).toMatch(/import\("\.\/client-state-server-[\w-]+\.js"\)/);
  expect(client).not.toMatch(/from "\.\/|EVALSHA/);
});

test('main loads one chunk before it knows the command, and no package', () => {
  const main = readFileSync(join(root, 'dist', 'main.cjs'), 'utf8');
  // Lazy imports are arrow functions.
  const needed = [...main.matchAll(/(?<!=>)require\((["'`])([^"'`]+)\1\)/g)].map((match) => match[2] ?? '');
  expect(needed).toContainEqual(expect.stringMatching(/^\.\/chunks\/base-/));
  expect(needed.filter((name) => !name.startsWith('./chunks/base-') && !name.startsWith('node:'))).toEqual([]);
});
