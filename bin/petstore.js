#!/usr/bin/env node
// Hands over to the built program; where Node can (22.8 and newer), compiled code is kept in the user's own cache folder.
const { mkdirSync } = require('node:fs');
const { enableCompileCache } = require('node:module');
const { dirname, join } = require('node:path');

const { env } = process;
const base = env.XDG_CACHE_HOME?.startsWith('/') ? env.XDG_CACHE_HOME : env.HOME && join(env.HOME, '.cache');
const root = process.platform === 'win32' ? env.LOCALAPPDATA : base;
const cache = root && join(root, 'petstore');
// A cache in a folder that others can write would let them run code here: without a home there is none.
if (enableCompileCache && cache && !env.NODE_COMPILE_CACHE && isThere(cache)) enableCompileCache(cache);

// Whatever is amiss with the installation, it is no success.
process.exitCode = 1;
try {
  require('../dist/main.cjs');
} catch {
  // No stack: it says nothing to whoever runs a program, and may show much of it.
  const [message, hint] = ['petstore could not be loaded: its installation is damaged', 'install it again'];
  const json = process.argv.includes('--json');
  const text = json ? JSON.stringify({ error: { kind: 'internal', message, hint } }) : `error: ${message}\n${hint}`;
  process.stderr.write(`${text}\n`);
}

// Made here: Node itself would try for ever where no folder can be made, as in an automounted home.
function isThere(folder) {
  return made(folder) || (made(dirname(folder)) && made(folder));
}

function made(folder) {
  try {
    mkdirSync(folder, { mode: 0o700 });
    return true;
  } catch (error) {
    return error.code === 'EEXIST';
  }
}
