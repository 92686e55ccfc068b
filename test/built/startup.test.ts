// Fast start-up: commands and entries of the library load only the packages that they need, and compiled code is cached.
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import module from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { hasModes } from '../support/capabilities.ts';
import { place } from '../support/processes.ts';
import { BIN, KEY, petstore, savedPlace } from '../support/program.ts';
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
  'csv-stringify': 'escape_formulas',
  'the sandbox': 'key_banned',
};

const DIST = join(dirname(dirname(BIN)), 'dist');
const textOf = (files: readonly string[]) => files.map((file) => readFileSync(file, 'utf8')).join('\n');
const packagesIn = (text: string) =>
  Object.entries(MARKERS).flatMap(([name, marker]) => (text.includes(marker) ? [name] : []));

test('the chunks of the built program contain each package whose lazy loading is tested', () => {
  const chunks = readdirSync(join(DIST, 'chunks')).filter((name) => name.endsWith('.cjs'));
  expect(packagesIn(textOf(chunks.map((name) => join(DIST, 'chunks', name))))).toEqual(Object.keys(MARKERS));
});

test.each([
  ['petstore.js --version', 'no package', []],
  ['petstore.js completion bash', 'no package', []],
  ['petstore.js completion bash --help', 'only commander', ['commander']],
  ['petstore.js --help', 'only commander', ['commander']],
  ['petstore.js categories list --json', 'only commander, undici and conf', ['commander', 'undici', 'conf']],
  ['client.mjs', 'no package', []],
  ['sandbox.mjs', 'only the sandbox', ['the sandbox']],
])('`%s` loads %s', async (line, _what, expected) => {
  const { url } = await serving(() => ({ body: [{ id: 1, name: 'dog' }] }));
  const coverage = tempDir();
  const at = savedPlace(url);
  const [file = '', ...args] = line.split(' ');
  const script = file === 'petstore.js' ? BIN : join(DIST, file);
  const run = await petstore({ ...at, env: { ...at.env, NODE_V8_COVERAGE: coverage } }, args, '', script);
  expect(run).toMatchObject({ code: 0, err: '' });
  // The scripts that V8 compiled.
  const urls = readdirSync(coverage).flatMap((name) => {
    const { result } = JSON.parse(readFileSync(join(coverage, name), 'utf8')) as { result: { url: string }[] };
    return result.map(({ url }) => url).filter((url) => url.startsWith('file:'));
  });
  expect(packagesIn(textOf(urls.map((url) => fileURLToPath(url))))).toEqual(expected);
});

test('a list loads five files from dist, and does not load HTTP/2', async () => {
  const { url } = await serving(() => ({ body: [] }));
  const at = savedPlace(url, { PETSTORE_API_KEY: KEY, PETSTORE_BASE_URL: url });
  const report = `process.on('exit', () => {
    const files = Object.keys(require.cache).filter((file) => file.includes('dist'));
    console.error(files.length, process.moduleLoadList.includes('NativeModule http2'));
  });`;
  const preload = join(at.dir, 'preload.cjs');
  writeFileSync(preload, report);
  // With its compile cache, the program loads its files without `require.cache`.
  const env = { ...at.env, NODE_OPTIONS: `--require=${preload}`, NODE_DISABLE_COMPILE_CACHE: '1' };
  const run = await petstore({ ...at, env }, ['categories', 'list', '--json']);
  expect(run).toMatchObject({ code: 0, err: '5 false\n' });
});

// Node.js 20 has no cache of its own, but can run that of petstore.
const ENABLING = "import module from 'node:module'; module.enableCompileCache ??= () => undefined";
const ENABLED = `--import=data:text/javascript,${encodeURIComponent(ENABLING)}`;
const HAS_OWN = 'enableCompileCache' in module;

describe.runIf(hasModes)('the cache of compiled code', () => {
  const versionFrom = async (home: string, env: Record<string, string> = {}): Promise<string[]> => {
    const at = place({ HOME: home, NODE_OPTIONS: ENABLED, ...env });
    expect(await petstore(at, ['--version'])).toMatchObject({ code: 0, err: '' });
    const cache = join(home, '.cache', 'petstore');
    return existsSync(cache) ? readdirSync(cache, { recursive: true, encoding: 'utf8' }) : ['none'];
  };
  const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);
  const cacheOf = (home: string): string => {
    const cache = join(home, '.cache', 'petstore');
    return join(cache, ...readdirSync(cache));
  };

  test('compiled code is kept in a directory that only its user can access', async () => {
    const home = tempDir();
    const start = expect.stringMatching(/start-[\w-]{8}\.cjs$/);
    expect(await versionFrom(home)).toEqual([expect.any(String), start]);
    expect(modeOf(cacheOf(home))).toBe('700');
    expect(modeOf(join(home, '.cache', 'petstore'))).toBe('700');
  });

  test('compiled code is not written again by a run that compiled nothing', async () => {
    const home = tempDir();
    await versionFrom(home);
    const { mtimeMs } = statSync(cacheOf(home));
    await versionFrom(home);
    expect(statSync(cacheOf(home)).mtimeMs).toBe(mtimeMs);
  });

  test('compiled code of another build is removed', async () => {
    const [home, root] = [tempDir(), tempDir()];
    cpSync(dirname(dirname(BIN)), root, { recursive: true, verbatimSymlinks: true });
    const main = join(root, 'dist', 'main.cjs');
    const [before = '', name = ''] = /start-([\w-]{8})\.cjs/.exec(readFileSync(main, 'utf8')) ?? [];
    const after = before.replace(name, 'ABCDEFGH');
    const chunks = async () => {
      const at = place({ HOME: home, NODE_OPTIONS: ENABLED });
      const run = await petstore(at, ['--version'], '', join(root, 'bin', 'petstore.js'));
      expect(run).toMatchObject({ code: 0, err: '' });
      return readdirSync(cacheOf(home));
    };
    expect(await chunks()).toEqual([before]);
    renameSync(join(root, 'dist', 'chunks', before), join(root, 'dist', 'chunks', after));
    writeFileSync(main, readFileSync(main, 'utf8').replace(before, after));
    expect(await chunks()).toEqual([after]);
  });

  // Code that imports modules on demand needs a newer Node.js.
  test.runIf(HAS_OWN)('compiled code includes the functions that ran, and is replaced if damaged', async () => {
    const { url } = await serving(() => ({ body: [] }));
    const at = savedPlace(url);
    const list = () => petstore({ ...at, env: { ...at.env, HOME: at.dir } }, ['categories', 'list', '--json']);
    expect(await list()).toMatchObject({ code: 0, out: '[]\n', err: '' });
    const names = readdirSync(cacheOf(at.dir));
    // Code of a file whose name has no hash would be used for another text of the same length.
    expect(names.filter((name) => !/-[\w-]{8}\.cjs$/.test(name))).toEqual([]);
    const service = join(cacheOf(at.dir), names.find((name) => name.startsWith('service')) ?? '');
    // A string in the function that sets the headers of a request.
    expect(readFileSync(service).includes('petstore-cli/')).toBe(true);
    const { size } = statSync(service);
    writeFileSync(service, Buffer.alloc(size));
    expect(await list()).toMatchObject({ code: 0, out: '[]\n', err: '' });
    expect(readFileSync(service).includes('petstore-cli/')).toBe(true);
  });

  test('compiled code is not kept if a file has the name of its directory, and no error is printed', async () => {
    const home = tempDir();
    const [version] = await versionFrom(home);
    const cache = cacheOf(home);
    rmSync(cache, { recursive: true });
    writeFileSync(cache, '');
    expect(await versionFrom(home)).toEqual([version]);
  });

  test('compiled code is kept below XDG_CACHE_HOME if this variable is set', async () => {
    const [home, cache] = [tempDir(), tempDir()];
    expect(await versionFrom(home, { XDG_CACHE_HOME: cache })).toEqual(['none']);
    expect(readdirSync(join(cache, 'petstore'))).toHaveLength(1);
  });

  test('compiled code is kept in the directory that NODE_COMPILE_CACHE names, and nowhere if NODE_DISABLE_COMPILE_CACHE is set', async () => {
    const [home, chosen] = [tempDir(), tempDir()];
    expect(await versionFrom(home, { NODE_COMPILE_CACHE: chosen })).toEqual(['none']);
    expect(readdirSync(chosen)).toHaveLength(HAS_OWN ? 1 : 0);
    expect(await versionFrom(home, { NODE_DISABLE_COMPILE_CACHE: '1' })).toEqual(['none']);
  });

  test.each(['701', '702', '704', '710', '720', '740'])('a cache directory of mode %s is not used', async (mode) => {
    const home = tempDir();
    mkdirSync(join(home, '.cache', 'petstore'), { recursive: true });
    chmodSync(join(home, '.cache', 'petstore'), mode);
    expect(await versionFrom(home)).toEqual([]);
  });

  test.each(['702', '720'])('in a home directory of mode %s, code is kept only with the sticky bit', async (mode) => {
    const home = tempDir();
    chmodSync(home, mode);
    expect(await versionFrom(home)).toEqual(['none']);
    mkdirSync(join(home, '.cache', 'petstore'), { recursive: true, mode: 0o700 });
    expect(await versionFrom(home)).toEqual([]);
    // With the sticky bit, as in /tmp, no other user can replace the directory.
    chmodSync(home, `1${mode}`);
    expect(await versionFrom(home)).toHaveLength(2);
  });

  test('compiled code is not kept if the home directory is missing or not a directory, and no error is printed', async () => {
    expect(await versionFrom(join(tempDir(), 'missing'))).toEqual(['none']);
    expect(await versionFrom('/dev/null')).toEqual(['none']);
  });

  // Only root may change the owner of a directory.
  test.runIf(process.getuid?.() === 0)("root keeps no compiled code in another user's home directory", async () => {
    const home = tempDir();
    chownSync(home, 54_321, 54_321);
    expect(await versionFrom(home)).toEqual(['none']);
    mkdirSync(join(home, '.cache', 'petstore'), { recursive: true, mode: 0o700 });
    chownSync(join(home, '.cache', 'petstore'), 54_321, 54_321);
    expect(await versionFrom(home)).toEqual([]);
  });
});
