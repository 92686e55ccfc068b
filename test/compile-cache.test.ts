// The compile cache of Node 22.8 and newer: used only where nobody else could plant code in it.
import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import { join } from 'node:path';
import { test as anyTest, beforeEach, expect } from 'vitest';
import { hasShell } from './support/capabilities.ts';
import { BIN } from './support/program.ts';
import { tempDir } from './support/temp-dir.ts';

const test = anyTest.runIf(hasShell);

let home = '';
beforeEach(() => {
  home = tempDir();
});

/** The folder that the program hands to Node, observed from a preloaded module that replaces Node's function. */
function cacheOf(env: Record<string, string> = {}): string | undefined {
  const spy = join(tempDir(), 'spy.cjs');
  fs.writeFileSync(spy, 'require(\'node:module\').enableCompileCache = (dir) => console.error("cache=" + dir);');
  const options = { env: { PATH: '/usr/bin:/bin', HOME: home, ...env }, encoding: 'utf8' as const };
  const script = `exec "$0" --require "$1" "$2" --version 2>&1`;
  const output = execFileSync('sh', ['-c', script, process.execPath, spy, BIN], options);
  return /cache=(.*)/.exec(output)?.[1];
}

const linux = process.platform === 'linux';
const cacheFolder = (): string => join(home, linux ? '.cache' : 'Library/Caches', 'petstore');

test('a private home has a private cache', () => {
  if (!linux) fs.mkdirSync(join(home, 'Library'));
  expect(cacheOf()).toBe(cacheFolder());
  expect(fs.statSync(cacheFolder()).mode & 0o777).toBe(0o700);
});

test.each([
  ['the folder', () => cacheFolder()],
  ['a folder above it', () => join(cacheFolder(), '..')],
  ['the home', () => home],
])('where others can write to %s there is none', (_what, path) => {
  fs.mkdirSync(cacheFolder(), { recursive: true, mode: 0o700 });
  fs.chmodSync(path(), 0o777);
  expect(cacheOf()).toBeUndefined();
  fs.chmodSync(path(), 0o1777);
  expect(cacheOf()).toBeUndefined();
});

test('where the folder is a link, or below a link, there is none', () => {
  const elsewhere = tempDir();
  fs.mkdirSync(join(cacheFolder(), '..'), { recursive: true });
  fs.symlinkSync(elsewhere, cacheFolder());
  expect(cacheOf()).toBeUndefined();
});

test('a cache outside the home is not used', () => {
  const shared = tempDir();
  fs.chmodSync(shared, 0o1777);
  expect(cacheOf({ XDG_CACHE_HOME: shared })).toBeUndefined();
  expect(cacheOf({ XDG_CACHE_HOME: join(home, 'own') })).toBe(join(home, 'own', 'petstore'));
  expect(cacheOf({ HOME: 'relative' })).toBeUndefined();
});

// Only root can give a folder to another user, as `sudo -E` would find it.
anyTest.runIf(process.getuid?.() === 0)("another user's home has none", () => {
  fs.mkdirSync(cacheFolder(), { recursive: true, mode: 0o700 });
  for (const path of [home, cacheFolder()]) {
    fs.chownSync(path, 1000, 1000);
    expect(cacheOf(), path).toBeUndefined();
    fs.chownSync(path, 0, 0);
  }
});
