// Saved profiles in several processes: concurrent, killed, and of several users.
import { spawn } from 'node:child_process';
import { chmodSync, chownSync, existsSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { openConfStore } from '../../src/profiles/conf-store.ts';
import { compile } from '../support/compile.ts';
import { startHttpFake } from '../support/http-fake.ts';
import { BASE_ENV, ended } from '../support/processes.ts';
import { BIN, KEY, savedPlace } from '../support/program.ts';
import { tempDir } from '../support/temp-dir.ts';
import { inProcess } from '../support/world.ts';

// Saves PROFILE COUNT times and prints a number after each save.
const WRITER = `
const { openConfStore } = await import(process.argv[2]);
const [dir, name, count] = process.argv.slice(3);
const store = openConfStore(dir);
for (let n = 1; n <= Number(count); n++) {
  await store.save({ name, url: 'https://a.example/v1', key: 'key-' + n + '-'.repeat(1000), origin: 'https://a.example' });
  process.stdout.write(n + '\\n');
}`;

let writer = '';
let module = '';
beforeAll(() => {
  module = compile('src/profiles/conf-store.ts');
  writer = join(tempDir(), 'writer.mjs');
  writeFileSync(writer, WRITER);
});

const newDir = (): string => join(tempDir(), 'config');

/** Starts a writer; `last` resolves to the last number that it printed. */
function write(dir: string, name: string, count: number) {
  const child = spawn(process.execPath, [writer, module, dir, name, String(count)], { env: BASE_ENV });
  const last = ended(child).then(({ out }) => Number(out.trim().split('\n').at(-1)));
  return { child, last };
}

const keyNumber = (key: string | undefined): number => Number(/^key-(\d+)-/.exec(key ?? '')?.[1]);

test('concurrent saves of five profiles lose nothing', async () => {
  const dir = newDir();
  const names = ['a', 'b', 'c', 'd', 'e'];
  const last = await Promise.all(names.map((name) => write(dir, name, 25).last));
  expect(last).toEqual(names.map(() => 25));
  const store = openConfStore(dir);
  expect(names.map((name) => keyNumber(store.get(name)?.key))).toEqual(last);
  expect(readdirSync(dir).filter((name) => name.includes('.tmp-'))).toEqual([]);
});

test('a save killed at any moment leaves the old or the new key, and removing the key removes leftover files', async () => {
  for (const saves of [3, 10, 17]) {
    const dir = newDir();
    const { child, last } = write(dir, 'p', 100_000);
    // Kill the process after some saves, at a random point of the next one.
    let printed = '';
    child.stdout.on('data', (chunk: Buffer) => {
      printed += chunk.toString();
      if (printed.split('\n').length > saves) child.kill('SIGKILL');
    });
    const acknowledged = await last;
    const store = openConfStore(dir);
    expect(keyNumber(store.get('p')?.key)).toBeGreaterThanOrEqual(acknowledged);
    expect(store.removeKey('p')).toBe(true);
    expect(readdirSync(dir)).toEqual(['profile-p.json']);
  }
});

// Only root may change the owner of a file.
const rootTest = test.runIf(process.getuid?.() === 0);

rootTest("a user's command uses a profile file of root as it is", async () => {
  const service = await startHttpFake(() => ({ body: [] }));
  const at = savedPlace(service.url);
  const config = join(at.dir, 'config');
  const file = join(config, 'profile-production.json');
  chownSync(at.dir, 54_321, 54_321);
  chmodSync(config, 0o755);
  chmodSync(file, 0o644);
  const child = spawn(process.execPath, [BIN, 'categories', 'list', '-q'], { ...at, uid: 54_321, gid: 54_321 });
  const { code, err } = await ended(child);
  service.close();
  expect([code, err, service.requests[0]?.headers.authorization]).toEqual([0, '', `Bearer ${KEY}`]);
  expect((statSync(file).mode & 0o777).toString(8)).toBe('644');
});

rootTest('a profile file of another user is a storage error, and its key command never runs', async () => {
  const marker = join(tempDir(), 'ran');
  const at = savedPlace('http://127.0.0.1:9/v1', {}, `touch ${marker}`);
  chownSync(join(at.dir, 'config', 'profile-production.json'), 54_321, 54_321);
  const login = ['auth', 'login', '--no-verify', '--url', 'http://127.0.0.1:9/v1'];
  for (const args of [['categories', 'list'], ['doctor'], ['auth', 'status'], login]) {
    const { code, out, err } = await inProcess(args, { ...at, stdin: 'k_0123456789abcdef' });
    expect([args, code, existsSync(marker)]).toEqual([args, 9, false]);
    expect(out + err).toContain('is owned by another user');
  }
  expect((await inProcess(['auth', 'logout', '-p', 'production', '--delete'], at)).code).toBe(0);
});
