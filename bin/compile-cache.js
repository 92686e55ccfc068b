// Keeps compiled code between runs, with Node.js 22.8 and newer. Whoever can write the cache can run code, so it is in a
// directory that only its user can write; without one, petstore starts a few milliseconds later.
'use strict';

const { mkdirSync, realpathSync, statSync } = require('node:fs');
const { enableCompileCache } = require('node:module');
const { homedir } = require('node:os');
const { dirname, isAbsolute, join } = require('node:path');

const { env, platform } = process;

/** The directory of the platform for caches, and in it that of petstore. */
function locate() {
  const { LOCALAPPDATA = '', XDG_CACHE_HOME = '' } = env;
  if (platform === 'win32') return [LOCALAPPDATA, join(LOCALAPPDATA, 'petstore', 'Cache')];
  if (platform === 'darwin') return [homedir(), join(homedir(), 'Library', 'Caches', 'petstore')];
  if (isAbsolute(XDG_CACHE_HOME)) return [XDG_CACHE_HOME, join(XDG_CACHE_HOME, 'petstore')];
  return [homedir(), join(homedir(), '.cache', 'petstore')];
}

/** Whether no other user, except root, can replace the directory. Windows restricts the directory for caches to its user. */
function isSafe(directory) {
  if (platform === 'win32') return true;
  for (let path = realpathSync.native(directory); ; path = dirname(path)) {
    const { uid, mode } = statSync(path);
    const isOwn = uid === 0 || uid === process.geteuid();
    const isWritable = (mode & 0o022) !== 0 && (mode & 0o1000) === 0;
    if (!isOwn || isWritable) return false;
    if (path === dirname(path)) return true;
  }
}

function isPrivate(directory) {
  const { uid, mode } = statSync(directory);
  return platform === 'win32' || (uid === process.geteuid() && (mode & 0o077) === 0);
}

if (!env.NODE_COMPILE_CACHE && !env.NODE_DISABLE_COMPILE_CACHE) {
  try {
    const [base, directory] = locate();
    if (!statSync(directory, { throwIfNoEntry: false }) && isSafe(base)) {
      mkdirSync(directory, { recursive: true, mode: 0o700 });
    }
    if (isPrivate(directory) && isSafe(directory)) enableCompileCache(directory);
  } catch {
    // The directory cannot be used.
  }
}
