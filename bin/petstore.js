#!/usr/bin/env node
// Starts the built program; on Node 22.8 and newer its compiled code is cached in the user's own cache folder.
const { lstatSync, mkdirSync } = require('node:fs');
const { enableCompileCache } = require('node:module');
const { dirname, isAbsolute, join, relative } = require('node:path');

const { env, platform } = process;
const cache = enableCompileCache && !env.NODE_COMPILE_CACHE && cacheFolder();
if (cache) enableCompileCache(cache);

process.exitCode = 1;
try {
  require('../dist/main.cjs');
} catch {
  // The stack of a damaged installation helps nobody and may show part of a key.
  const [message, hint] = ['petstore could not be loaded', 'reinstall petstore; its installation is damaged'];
  const json = process.argv.includes('--json');
  const text = json
    ? JSON.stringify({ error: { kind: 'internal', message, hint } })
    : `error: ${message}\nhint: ${hint}`;
  process.stderr.write(`${text}\n`);
}

// Node runs whatever code the cache holds, so nobody else may be able to write to it or to a folder above it.
function cacheFolder() {
  if (platform === 'win32') return env.LOCALAPPDATA && join(env.LOCALAPPDATA, 'petstore', 'Cache');
  const home = env.HOME;
  if (!home || !isAbsolute(home)) return undefined;
  const base = platform === 'darwin' ? join(home, 'Library', 'Caches') : join(home, '.cache');
  const root = isAbsolute(env.XDG_CACHE_HOME ?? '') ? env.XDG_CACHE_HOME : base;
  if (/^\.\.|^$/.test(relative(home, root))) return undefined;
  const folder = join(root, 'petstore');
  // Created here, since Node would retry for ever where no folder can be created.
  for (const path of [root, folder]) {
    try {
      mkdirSync(path, { mode: 0o700 });
    } catch (error) {
      if (error.code !== 'EEXIST') return undefined;
    }
  }
  for (let path = folder; ; path = dirname(path)) {
    if (!isPrivate(path)) return undefined;
    if (path === home || path === dirname(path)) return folder;
  }
}

function isPrivate(path) {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  return stats?.isDirectory() && stats.uid === process.getuid() && (stats.mode & 0o022) === 0;
}
