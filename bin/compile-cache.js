// Keeps compiled code between runs, with Node.js 22.8 and newer. Whoever can write the cache can run code, so it is in a
// directory that only its user can write; without one, petstore starts about 10 ms later. Node's own cache
// (`module.enableCompileCache`) saves half of this time, because it lacks functions that are compiled at their first call.
'use strict';

const { mkdirSync, readFileSync, realpathSync, renameSync, rmSync, statSync, writeFileSync } = require('node:fs');
const { homedir } = require('node:os');
const { basename, dirname, isAbsolute, join } = require('node:path');
const { cachedDataVersionTag, deserialize, serialize } = require('node:v8');
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

/** The file for the code that this Node.js compiles, or undefined if its directory cannot be used. */
function cacheFile() {
  if (env.NODE_COMPILE_CACHE || env.NODE_DISABLE_COMPILE_CACHE) return undefined;
  try {
    const [base, directory] = locate();
    if (!statSync(directory, { throwIfNoEntry: false }) && isSafe(base)) {
      mkdirSync(directory, { recursive: true, mode: 0o700 });
    }
    const isUsable = isPrivate(directory) && isSafe(directory);
    return isUsable ? join(directory, `${version}-${arch}-${cachedDataVersionTag()}.code`) : undefined;
  } catch {
    return undefined;
  }
}

/** Loads the program with the code in the file. When the process ends, the file is replaced if code was missing. */
function loadWith(file, main) {
  // V8 compares only the length of a text, but this one contains a hash of all chunks.
  const build = readFileSync(main, 'utf8');
  const code = read(file, build);
  const [loaded, scripts] = [{}, {}];
  const load = (filename) => {
    const name = basename(filename);
    if (name in loaded) return loaded[name];
    const wrapper = `(function (exports, require) {${readFileSync(filename, 'utf8')}\n})`;
    scripts[name] = new Script(wrapper, { filename, cachedData: code[name] });
    loaded[name] = {};
    const requireFrom = (id) => (id.startsWith('./') ? load(join(dirname(filename), id)) : require(id));
    scripts[name].runInThisContext()(loaded[name], requireFrom);
    return loaded[name];
  };
  process.on('exit', () => {
    if (Object.values(scripts).every(({ cachedDataRejected }) => cachedDataRejected === false)) return;
    try {
      for (const name in scripts) code[name] = scripts[name].createCachedData();
      write(file, serialize({ build, code }));
    } catch {
      // The directory cannot be used.
    }
  });
  return load(main);
}

/** The code of the chunks of this build, by name. */
function read(file, build) {
  try {
    const kept = deserialize(readFileSync(file));
    return kept.build === build ? kept.code : {};
  } catch {
    return {};
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
  const file = cacheFile();
  return file ? loadWith(file, main) : require(main);
};
