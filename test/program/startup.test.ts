// Lazy loading: a command loads only the packages that it needs, which keeps start-up fast.
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, expect, test } from 'vitest';
import type { HttpFake } from '../support/http-fake.ts';
import { startHttpFake } from '../support/http-fake.ts';
import { BASE_ENV, place } from '../support/processes.ts';
import { BIN, petstore } from '../support/program.ts';
import { tempDir } from '../support/temp-dir.ts';

let service: HttpFake;
beforeAll(async () => {
  service = await startHttpFake(() => ({ body: [{ id: 1, name: 'dog' }] }));
  return service.close;
});

/** A string of each package or part that survives minification. */
const MARKERS = {
  commander: 'copyInheritedSettings',
  undici: 'UND_ERR_CONNECT_TIMEOUT',
  conf: 'clearInvalidConfig',
  'cli-table3': 'wrapOnWordBoundary',
  ora: 'There is no built-in spinner named',
  iovalkey: 'enableOfflineQueue',
  'csv-stringify': 'quoted_match',
  'the sandbox': 'key_banned',
  'the proxy agent': 'proxyTunnel',
} as const;

/** Runs a process and returns the packages whose markers are in the files that V8 compiled. */
async function markersOf(run: (env: Record<string, string>) => unknown): Promise<string[]> {
  const coverage = tempDir();
  await run({ NODE_V8_COVERAGE: coverage });
  const urls = readdirSync(coverage).flatMap((file) => {
    const { result: scripts } = JSON.parse(readFileSync(join(coverage, file), 'utf8')) as { result: { url: string }[] };
    return scripts.map(({ url }) => url);
  });
  const text = urls
    .filter((url) => url.startsWith('file:'))
    .map((url) => readFileSync(fileURLToPath(url), 'utf8'))
    .join('\n');
  return Object.entries(MARKERS).flatMap(([name, mark]) => (text.includes(mark) ? [name] : []));
}

// The commands use a saved profile.
async function loaded(args: readonly string[], env: Record<string, string> = {}): Promise<string[]> {
  const at = place(env);
  await petstore(at, ['auth', 'login', '--no-verify', '--url', service.url], 'k_0123456789abcdef\n');
  return markersOf(async (coverage) => {
    const result = await petstore({ ...at, env: { ...at.env, ...coverage } }, args);
    expect(result.code, result.err).toBe(0);
  });
}

test('the built program contains a marker of each package', () => {
  const chunks = join(dirname(dirname(BIN)), 'dist', 'chunks');
  const text = readdirSync(chunks)
    .filter((name) => name.endsWith('.cjs'))
    .map((name) => readFileSync(join(chunks, name), 'utf8'))
    .join('\n');
  expect(Object.entries(MARKERS).filter(([, mark]) => !text.includes(mark))).toEqual([]);
});

test.each([
  ['--version', []],
  ['--help', ['commander']],
  ['categories list --json', ['commander', 'conf', 'undici']],
])('`petstore %s` loads only the packages %j', async (line, expected) => {
  expect((await loaded(line.split(' '))).sort()).toEqual(expected);
});

test('a command with PETSTORE_STATE_URL loads the state server client', async () => {
  const list = ['categories', 'list', '--json'];
  expect(await loaded(list, { PETSTORE_STATE_URL: 'redis://127.0.0.1:1' })).toContain('iovalkey');
});

test.each([
  ['client.cjs', ['undici']],
  ['client.mjs', ['undici']],
  ['sandbox.cjs', ['the sandbox']],
  ['sandbox.mjs', ['the sandbox']],
])("the library's %s loads only %j", async (name, expected) => {
  const client = join(dirname(dirname(BIN)), 'dist', name);
  const marks = await markersOf((env) => execFileSync(process.execPath, [client], { env: { ...BASE_ENV, ...env } }));
  expect(marks).toEqual(expected);
});
