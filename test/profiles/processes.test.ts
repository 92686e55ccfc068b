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
  await store.save(name, { url: 'https://a.example/v1', key: 'key-' + n + '-'.repeat(1000), origin: 'https://a.example' });
  process.stdout.write(n + '\\n');
}`;

let writer = '';
let module = '';
beforeAll(() => {
  module = compile('src/profiles/conf-store.ts');
  writer = join(tempDir(), 'writer.mjs');
  writeFileSync(writer, WRITER);
});

/** Runs a writer, which is killed after so many saves, at a random point of the next one; returns the last number printed. */
async function write(dir: string, name: string, count: number, killAfter: number): Promise<number> {
  const child = spawn(process.execPath, [writer, module, dir, name, String(count)], { env: BASE_ENV });
  let printed = '';
  child.stdout.on('data', (chunk: Buffer) => {
    printed += chunk.toString();
    if (printed.split('\n').length > killAfter) child.kill('SIGKILL');
  });
  const { out } = await ended(child);
  return Number(out.trim().split('\n').at(-1));
}

const keyNumber = (key: string | undefined): number => Number(/^key-(\d+)-/.exec(key ?? '')?.[1]);

test('concurrent saves lose nothing, and a save killed at any moment leaves the old or the new key', async () => {
  const dir = join(tempDir(), 'config');
  const complete = ['a', 'b', 'c'].map((name) => write(dir, name, 25, Number.POSITIVE_INFINITY));
  const killed = { d: 3, e: 10, f: 17 };
  const acknowledged = Object.entries(killed).map(([name, saves]) => write(dir, name, 100_000, saves));
  expect(await Promise.all(complete)).toEqual([25, 25, 25]);
  await Promise.all(acknowledged);
  const store = openConfStore(dir);
  expect(['a', 'b', 'c'].map((name) => keyNumber(store.get(name)?.key))).toEqual([25, 25, 25]);
  for (const [at, name] of Object.keys(killed).entries()) {
    expect(keyNumber(store.get(name)?.key)).toBeGreaterThanOrEqual((await acknowledged[at]) as number);
    // Removes leftover files, too.
    expect(store.removeKey(name)).toBe(true);
  }
  expect(readdirSync(dir).sort()).toEqual([...'abcdef'].map((name) => `profile-${name}.json`));
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
