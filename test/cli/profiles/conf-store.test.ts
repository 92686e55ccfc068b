// Profiles on disk: their file is private, replaced atomically, never changed if damaged, and owned by the user or root.
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { openConfStore } from '../../../src/cli/profiles/conf-store.ts';
import { hasModes, hasShell } from '../../support/capabilities.ts';
import { compile } from '../../support/compile.ts';
import { startHttpFake } from '../../support/http-fake.ts';
import { BASE_ENV, ended } from '../../support/processes.ts';
import { BIN, KEY as SAVED_KEY, savedPlace } from '../../support/program.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { inProcess } from '../../support/world.ts';

const KEY = 'secret-key-0123456789';
const PROFILE = { url: 'https://a.example/v1', key: KEY, origin: 'https://a.example' };

let dir = '';
beforeEach(() => {
  dir = join(tempDir(), 'config');
});

const file = (): string => join(dir, 'config.json');
const modeOf = (path: string): string => (fs.statSync(path).mode & 0o777).toString(8);

test('reading profiles creates no directory and no file', () => {
  const store = openConfStore(dir);
  expect(store.names()).toEqual(['production', 'staging', 'sandbox']);
  expect([store.get('production'), store.active()]).toEqual([undefined, 'production']);
  expect(fs.existsSync(dir)).toBe(false);
});

test.each(['000', '077'])('under umask %s, profiles are saved in one private file and read back', (umask) => {
  const before = process.umask(umask);
  onTestFinished(() => void process.umask(before));
  for (const name of ['production', 'farm', 'ant']) openConfStore(dir).save(name, PROFILE);
  openConfStore(dir).activate('farm');
  const store = openConfStore(dir);
  expect(store.get('production')).toEqual(PROFILE);
  expect(store.names()).toEqual(['production', 'staging', 'sandbox', 'ant', 'farm']);
  expect(store.active()).toBe('farm');
  expect(fs.readdirSync(dir)).toEqual(['config.json']);
  if (hasModes) expect([modeOf(dir), modeOf(file())]).toEqual(['700', '600']);
});

test.runIf(hasModes).each(['644', '640', '604'])(
  "a user's configuration file of mode %s becomes private when it is read, and its directory keeps its mode",
  (mode) => {
    openConfStore(dir).save('production', PROFILE);
    fs.chmodSync(file(), mode);
    fs.chmodSync(dir, 0o755);
    expect(openConfStore(dir).get('production')).toEqual(PROFILE);
    expect(modeOf(file())).toBe('600');
    openConfStore(dir).save('production', PROFILE);
    expect([modeOf(file()), modeOf(dir)]).toEqual(['600', '755']);
  },
);

const valid = JSON.stringify({ profiles: { production: PROFILE } });
test.each([
  ['cut off', valid.slice(0, 60)],
  ['empty', ''],
  ['a byte order mark and a trailing character', `\ufeff${valid}x`],
  ['null', 'null'],
  ['an array', '[1,2]'],
  ['a list of profiles', `{"profiles":[${JSON.stringify(PROFILE)}]}`],
  ['a profile that is null', '{"profiles":{"production":null}}'],
  ['a key that is not a string', '{"profiles":{"production":{"key":{"a":1}}}}'],
  ['an invalid name', '{"profiles":{"../x":{}}}'],
  ['an invalid active profile', '{"active":"../x"}'],
])('a damaged configuration file (%s) is not changed, and its error shows only the path', (_what, content) => {
  fs.mkdirSync(dir);
  fs.writeFileSync(file(), content, { mode: 0o600 });
  const store = openConfStore(dir);
  const damage = expect.objectContaining({
    kind: 'storage',
    message: `"${file()}" is damaged`,
    hint: 'correct the file, or delete it and log in again',
  });
  const { names, get, save, remove, active, activate } = store;
  for (const use of [names, () => get('production'), active, () => activate('staging'), () => remove('farm')]) {
    expect(use).toThrow(damage);
  }
  expect(() => save('production', PROFILE)).toThrow(damage);
  expect(fs.readFileSync(file(), 'utf8')).toBe(content);
  expect(fs.readdirSync(dir)).toEqual(['config.json']);
});

test.runIf(process.platform !== 'win32')('a FIFO as the configuration file is an error and does not block', () => {
  fs.mkdirSync(dir, { recursive: true });
  execFileSync('mkfifo', [file()]);
  expect(() => openConfStore(dir).get('production')).toThrow(`"${file()}" is not a regular file`);
});

test.each(['__proto__', 'a.b', '', '../x'])('saving a profile named %j is rejected and writes nothing', (name) => {
  expect(() => openConfStore(dir).save(name, PROFILE)).toThrow(expect.objectContaining({ kind: 'usage' }));
  expect(fs.existsSync(dir)).toBe(false);
});

test.each(['constructor', '0', 'active'])('profile %j is saved and activated, and removed with its key', (name) => {
  const store = openConfStore(dir);
  expect(store.get(name)).toBe(undefined);
  store.save(name, PROFILE);
  store.activate(name);
  expect([store.get(name), store.active()]).toEqual([PROFILE, name]);
  expect([store.remove(name), store.remove(name)]).toEqual([true, false]);
  expect([store.get(name), store.active()]).toEqual([undefined, 'production']);
  expect(fs.readFileSync(file(), 'utf8')).not.toContain(KEY.slice(0, 8));
});

// `ulimit -f` simulates a full disk: each file has room for no byte, or for one block of 512 bytes.
test.runIf(hasShell).each(['0', '1'])('a login under `ulimit -f %s` keeps the old key', (blocks) => {
  openConfStore(dir).save('production', PROFILE);
  const before = fs.readFileSync(file());
  const script = 'ulimit -f "$1"; shift; exec "$@" auth login -p production --no-verify';
  const { status, stderr } = spawnSync('sh', ['-c', script, 'sh', blocks, process.execPath, BIN], {
    env: { ...BASE_ENV, HOME: join(dir, '..'), PETSTORE_CONFIG_DIR: dir },
    input: `new-key-${'-'.repeat(1000)}\n`,
  });
  expect([status, stderr.toString()]).toEqual([9, expect.stringContaining(file())]);
  expect(fs.readFileSync(file())).toEqual(before);
  expect(fs.readdirSync(dir)).toEqual(['config.json']);
});

// A program that saves a profile repeatedly and prints a number after each save.
const WRITER = `
const [module, dir] = process.argv.slice(1);
const { openConfStore } = await import(module);
const saved = { url: 'https://a.example/v1', origin: 'https://a.example' };
for (let n = 1; ; n++) {
  openConfStore(dir).save('a', { ...saved, key: 'key-' + n + '-'.repeat(1000) });
  process.stdout.write(n + '\\n');
}`;

test('a process that is killed while it saves keys leaves the last key that it reported, or a newer key', async () => {
  const module = compile('src/cli/profiles/conf-store.ts');
  // Kills the writer at a random point after this many saves.
  for (const saves of [1, 3, 10, 17, 25, 40]) {
    const child = spawn(process.execPath, ['--input-type=module', '-e', WRITER, module, dir], { env: BASE_ENV });
    let printed = '';
    child.stdout.on('data', (chunk: Buffer) => {
      printed += chunk.toString();
      if (printed.split('\n').length > saves) child.kill('SIGKILL');
    });
    const { out } = await ended(child);
    const last = Number(out.trim().split('\n').at(-1));
    expect(Number(/^key-(\d+)-/.exec(openConfStore(dir).get('a')?.key ?? '')?.[1])).toBeGreaterThanOrEqual(last);
  }
});

// Only root may change the owner of a file.
const rootTest = test.runIf(process.getuid?.() === 0);

// A user may be denied access to the directory that Node.js is installed in, for example below /root.
const OTHER = { uid: 54_321, gid: 54_321 };
const others = spawnSync(process.execPath, ['--version'], OTHER);

test.runIf(others.status === 0)('a configuration file of root works for a user and keeps its mode', async () => {
  const service = await startHttpFake(() => ({ body: [] }));
  const at = savedPlace(service.url);
  const config = join(at.dir, 'config');
  const saved = join(config, 'config.json');
  fs.chownSync(at.dir, 54_321, 54_321);
  fs.chmodSync(config, 0o755);
  fs.chmodSync(saved, 0o644);
  const child = spawn(process.execPath, [BIN, 'categories', 'list', '-q'], { ...at, ...OTHER });
  const { code, err } = await ended(child);
  service.close();
  expect([code, err, service.requests[0]?.headers.authorization]).toEqual([0, '', `Bearer ${SAVED_KEY}`]);
  expect(modeOf(saved)).toBe('644');
});

rootTest('a configuration file of neither the user nor root is an error, and its key command never runs', async () => {
  const marker = join(tempDir(), 'ran');
  const at = savedPlace('http://127.0.0.1:9/v1', {}, `touch ${marker}`);
  fs.chownSync(join(at.dir, 'config', 'config.json'), 54_321, 54_321);
  const login = ['auth', 'login', '--no-verify', '--url', 'http://127.0.0.1:9/v1'];
  const logout = ['auth', 'logout', '--delete'];
  for (const args of [['categories', 'list'], ['doctor'], ['auth', 'status'], login, logout]) {
    const { code, out, err } = await inProcess(args, { ...at, stdin: 'k_0123456789abcdef' });
    expect([args, code, fs.existsSync(marker)]).toEqual([args, 9, false]);
    expect(out + err).toContain('is owned by another user');
  }
});
