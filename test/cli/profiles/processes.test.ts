// Saved profiles in processes that are killed, and of several users.
import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openConfStore } from '../../../src/cli/profiles/conf-store.ts';
import { compile } from '../../support/compile.ts';
import { startHttpFake } from '../../support/http-fake.ts';
import { BASE_ENV, ended } from '../../support/processes.ts';
import { BIN, KEY, savedPlace } from '../../support/program.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { inProcess } from '../../support/world.ts';

// Saves a profile again and again, and prints a number after each save.
const WRITER = `
const [module, dir] = process.argv.slice(1);
const { openConfStore } = await import(module);
const saved = { url: 'https://a.example/v1', origin: 'https://a.example' };
for (let n = 1; ; n++) {
  openConfStore(dir).save('a', { ...saved, key: 'key-' + n + '-'.repeat(1000) });
  process.stdout.write(n + '\\n');
}`;

test('a save that is killed at any moment leaves the old or the new key', async () => {
  const dir = join(tempDir(), 'config');
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

// A user may be denied the directory that Node.js is installed in, for example below /root.
const OTHER = { uid: 54_321, gid: 54_321 };
const others = spawnSync(process.execPath, ['--version'], OTHER);

test.runIf(others.status === 0)("a user's command uses a profile file owned by root as it is", async () => {
  const service = await startHttpFake(() => ({ body: [] }));
  const at = savedPlace(service.url);
  const config = join(at.dir, 'config');
  const file = join(config, 'config.json');
  chownSync(at.dir, 54_321, 54_321);
  chmodSync(config, 0o755);
  chmodSync(file, 0o644);
  const child = spawn(process.execPath, [BIN, 'categories', 'list', '-q'], { ...at, ...OTHER });
  const { code, err } = await ended(child);
  service.close();
  expect([code, err, service.requests[0]?.headers.authorization]).toEqual([0, '', `Bearer ${KEY}`]);
  expect((statSync(file).mode & 0o777).toString(8)).toBe('644');
});

rootTest('a profile file of another user is a storage error, and its key command never runs', async () => {
  const marker = join(tempDir(), 'ran');
  const at = savedPlace('http://127.0.0.1:9/v1', {}, `touch ${marker}`);
  chownSync(join(at.dir, 'config', 'config.json'), 54_321, 54_321);
  const login = ['auth', 'login', '--no-verify', '--url', 'http://127.0.0.1:9/v1'];
  const logout = ['auth', 'logout', '--delete'];
  for (const args of [['categories', 'list'], ['doctor'], ['auth', 'status'], login, logout]) {
    const { code, out, err } = await inProcess(args, { ...at, stdin: 'k_0123456789abcdef' });
    expect([args, code, existsSync(marker)]).toEqual([args, 9, false]);
    expect(out + err).toContain('is owned by another user');
  }
});
