// Lazy loading: a command and an entry of the library load only the packages that they need, which keeps start-up fast.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { runProgram } from '../support/processes.ts';
import { BIN, KEY, savedPlace } from '../support/program.ts';
import { tempDir } from '../support/temp-dir.ts';
import { serving } from '../support/world.ts';

/** For each package or part, a string that survives minification. */
const MARKERS = {
  commander: 'copyInheritedSettings',
  undici: 'UND_ERR_CONNECT_TIMEOUT',
  conf: 'clearInvalidConfig',
  'cli-table3': 'wrapOnWordBoundary',
  ora: 'There is no built-in spinner named',
  iovalkey: 'enableOfflineQueue',
  'csv-stringify': 'quoted_match',
  'the sandbox': 'key_banned',
};

const DIST = join(dirname(dirname(BIN)), 'dist');
const textOf = (files: readonly string[]) => files.map((file) => readFileSync(file, 'utf8')).join('\n');
const packagesIn = (text: string) =>
  Object.entries(MARKERS).flatMap(([name, marker]) => (text.includes(marker) ? [name] : []));

test('the built program contains a marker of each package', () => {
  const chunks = readdirSync(join(DIST, 'chunks')).filter((name) => name.endsWith('.cjs'));
  expect(packagesIn(textOf(chunks.map((name) => join(DIST, 'chunks', name))))).toEqual(Object.keys(MARKERS));
});

test.each([
  ['petstore.js --version', []],
  ['petstore.js --help', ['commander']],
  ['petstore.js categories list --json', ['commander', 'undici', 'conf']],
  ['client.mjs', []],
  ['sandbox.mjs', ['the sandbox']],
])('%s loads only the packages %j', async (line, expected) => {
  const { url } = await serving(() => ({ body: [{ id: 1, name: 'dog' }] }));
  const coverage = tempDir();
  const at = savedPlace(url);
  const [file = '', ...args] = line.split(' ');
  const script = file === 'petstore.js' ? BIN : join(DIST, file);
  const run = await runProgram(script, { ...at, env: { ...at.env, NODE_V8_COVERAGE: coverage } }, args);
  expect(run).toMatchObject({ code: 0, err: '' });
  // The scripts that V8 compiled.
  const urls = readdirSync(coverage).flatMap((name) => {
    const { result } = JSON.parse(readFileSync(join(coverage, name), 'utf8')) as { result: { url: string }[] };
    return result.map(({ url }) => url).filter((url) => url.startsWith('file:'));
  });
  expect(packagesIn(textOf(urls.map((url) => fileURLToPath(url))))).toEqual(expected);
});

test('a list loads five files of the program, and no HTTP/2', async () => {
  const { url } = await serving(() => ({ body: [] }));
  const at = savedPlace(url, { PETSTORE_API_KEY: KEY, PETSTORE_BASE_URL: url });
  const report = `process.on('exit', () => {
    const files = Object.keys(require.cache).filter((file) => file.includes('dist'));
    console.error(files.length, process.moduleLoadList.includes('NativeModule http2'));
  });`;
  const preload = join(at.dir, 'preload.cjs');
  writeFileSync(preload, report);
  const env = { ...at.env, NODE_OPTIONS: `--require=${preload}` };
  const run = await runProgram(BIN, { ...at, env }, ['categories', 'list', '--json']);
  expect(run).toMatchObject({ code: 0, err: '5 false\n' });
});
