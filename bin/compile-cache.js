// Loads the program and keeps its compiled code between runs, with Node.js 22.8 and newer. Whoever can write the cache can
// run code, so it is in a directory that only its user can write; without one, petstore starts about 10 ms later. Node's own
// cache (`module.enableCompileCache`) saves half of this time, because it lacks functions that are compiled at their first call.
'use strict';

const {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} = require('node:fs');
const { homedir } = require('node:os');
const { basename, dirname, isAbsolute, join } = require('node:path');
const { cachedDataVersionTag } = require('node:v8');
const { Script } = require('node:vm');

const { arch, env, pid, platform, version } = process;

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

/** The directory for the code that this Node.js compiles, or undefined if it cannot be used. */
function cacheDirectory() {
  if (env.NODE_COMPILE_CACHE || env.NODE_DISABLE_COMPILE_CACHE) return undefined;
  try {
    const [base, directory] = locate();
    if (!statSync(directory, { throwIfNoEntry: false }) && isSafe(base)) {
      mkdirSync(directory, { recursive: true, mode: 0o700 });
    }
    const isUsable = isPrivate(directory) && isSafe(directory);
    return isUsable ? join(directory, `${version}-${arch}-${cachedDataVersionTag()}`) : undefined;
  } catch {
    return undefined;
  }
}

/** Loads the program with the compiled code in the directory, and adds what is missing when the process ends. */
function loadWith(directory, main) {
  const loaded = {};
  const missing = [];
  const load = (filename) => {
    const name = basename(filename);
    if (name in loaded) return loaded[name];
    const wrapper = `(function (exports, require) {${readFileSync(filename, 'utf8')}\n})`;
    const script = new Script(wrapper, { filename, cachedData: read(join(directory, name)) });
    // V8 compares only the length of the text, but the name of a chunk contains a hash of its text.
    if (filename !== main && script.cachedDataRejected !== false) missing.push([name, script]);
    loaded[name] = {};
    const requireFrom = (id) => (id.startsWith('./') ? load(join(dirname(filename), id)) : require(id));
    script.runInThisContext()(loaded[name], requireFrom);
    return loaded[name];
  };
  process.on('exit', () => {
    if (missing.length === 0) return;
    try {
      mkdirSync(directory, { recursive: true, mode: 0o700 });
      for (const [name, script] of missing) write(join(directory, name), script.createCachedData());
      // Remove the code of other builds.
      for (const name of readdirSync(directory)) {
        if (!existsSync(join(dirname(main), 'chunks', name))) rmSync(join(directory, name));
      }
    } catch {
      // The directory cannot be used.
    }
  });
  return load(main);
}

function read(file) {
  try {
    return readFileSync(file);
  } catch {
    return undefined;
  }
}

/** Writes a whole file or none, even if the machine crashes, since V8 does not check the content. */
function write(file, bytes) {
  const draft = `${file}.${pid}`;
  try {
    writeFileSync(draft, bytes, { flag: 'wx', mode: 0o600, flush: true });
    renameSync(draft, file);
  } finally {
    rmSync(draft, { force: true });
  }
}

module.exports = (main) => {
  const directory = cacheDirectory();
  return directory ? loadWith(directory, main) : require(main);
};
