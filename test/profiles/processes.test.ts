// Saved profiles in several processes: concurrent, killed, and with any umask.
import type { ChildProcess } from 'node:child_process';
import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, cpSync, existsSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { openConfStore } from '../../src/profiles/conf-store.ts';
import { hasShell } from '../support/capabilities.ts';
import { compile } from '../support/compile.ts';
import { startHttpFake } from '../support/http-fake.ts';
import { BASE_ENV, ended, place } from '../support/processes.ts';
import { BIN, petstore } from '../support/program.ts';
import { tempDir } from '../support/temp-dir.ts';

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
const env = BASE_ENV;

function write(dir: string, name: string, count: number): ChildProcess {
  return spawn(process.execPath, [writer, module, dir, name, String(count)], { env });
}

function lastOf(child: ChildProcess): Promise<number> {
  let output = '';
  child.stdout?.on('data', (chunk: Buffer) => {
    output += chunk.toString();
  });
  return new Promise((resolve) => child.on('close', () => resolve(Number(output.trim().split('\n').at(-1)) || 0)));
}

const keyNumber = (key: string | undefined): number => Number(/^key-(\d+)-/.exec(key ?? '')?.[1]);

test('concurrent saves of eight profiles lose nothing', async () => {
  const dir = newDir();
  const names = Array.from({ length: 8 }, (_, at) => `p${at}`);
  const last = await Promise.all(names.map((name) => lastOf(write(dir, name, 25))));
  expect(last).toEqual(names.map(() => 25));
  const store = openConfStore(dir);
  expect(names.map((name) => keyNumber(store.get(name)?.key))).toEqual(last);
  expect(readdirSync(dir).filter((name) => name.includes('.tmp-'))).toEqual([]);
});

test('a save killed at any moment leaves the old or the new key, and removing the key removes leftover files', async () => {
  for (let round = 0; round < 3; round++) {
    const dir = newDir();
    const child = write(dir, 'p', 100_000);
    const last = lastOf(child);
    // Kill the process after some saves, at a random point of the next one.
    await new Promise<void>((resolve) => {
      let writes = 0;
      child.stdout?.on('data', (chunk: Buffer) => {
        writes += chunk.toString().split('\n').length - 1;
        if (writes >= 3 + round * 7) resolve();
      });
    });
    child.kill('SIGKILL');
    const acknowledged = await last;
    const store = openConfStore(dir);
    expect(keyNumber(store.get('p')?.key)).toBeGreaterThanOrEqual(acknowledged);
    expect(store.removeKey('p')).toBe(true);
    expect(readdirSync(dir)).toEqual(['profile-p.json']);
  }
});

test.runIf(hasShell).each(['000', '077'])(
  'under umask %s the profile has mode 0600 and its directory 0700',
  (umask) => {
    const dir = newDir();
    const script = 'umask "$1"; shift; exec "$@"';
    const args = ['-c', script, 'sh', umask, process.execPath, writer, module, dir, 'p', '1'];
    expect(spawnSync('sh', args, { env, encoding: 'utf8' }).stderr).toBe('');
    expect((statSync(dir).mode & 0o777).toString(8)).toBe('700');
    expect((statSync(join(dir, 'profile-p.json')).mode & 0o777).toString(8)).toBe('600');
  },
);

// Only root may change the owner of a file.
const rootTest = test.runIf(process.getuid?.() === 0);

rootTest("a user's command uses a profile file of root as it is", async () => {
  const service = await startHttpFake(() => ({ body: [] }));
  const root = place();
  await petstore(root, ['auth', 'login', '--no-verify', '--url', service.url], 'key-of-root-0123456789\n');
  const user = place();
  const config = join(user.dir, 'config');
  cpSync(root.env['PETSTORE_CONFIG_DIR'] ?? '', config, { recursive: true });
  const file = join(config, 'profile-production.json');
  chownSync(user.dir, 54_321, 54_321);
  chmodSync(config, 0o755);
  chmodSync(file, 0o644);
  const child = spawn(process.execPath, [BIN, 'categories', 'list', '-q'], { ...user, uid: 54_321, gid: 54_321 });
  const { code, err } = await ended(child);
  service.close();
  expect([code, err, service.requests[0]?.headers.authorization]).toEqual([0, '', 'Bearer key-of-root-0123456789']);
  expect((statSync(file).mode & 0o777).toString(8)).toBe('644');
});

rootTest('a profile file of another user is a storage error, and its key command never runs', async () => {
  const at = place();
  const marker = join(at.dir, 'ran');
  const login = ['auth', 'login', '--no-verify', '--url', 'http://127.0.0.1:9/v1', '--key-command', `touch ${marker}`];
  expect((await petstore(at, login)).code).toBe(0);
  const file = join(at.dir, 'config', 'profile-production.json');
  chownSync(file, 54_321, 54_321);
  for (const args of [['categories', 'list'], ['doctor'], ['auth', 'status'], login]) {
    const { code, out, err } = await petstore(at, args);
    expect([args, code, existsSync(marker)]).toEqual([args, 9, false]);
    expect(out + err).toContain('is owned by another user');
  }
  expect((await petstore(at, ['auth', 'logout', '-p', 'production', '--delete'])).code).toBe(0);
});
