#!/usr/bin/env node
// Starts the built program. An old Node.js cannot run it, but can run this file.
'use strict';

const given = (...flags) => flags.some((flag) => process.argv.includes(flag));

function fail(exitCode, kind, message, hint) {
  process.exitCode = exitCode;
  const error = { kind, message, hint };
  const text = `error: ${message}\nhint: ${hint}`;
  process.stderr.write(`${given('--json') ? JSON.stringify({ error }) : text}\n`);
}

function crash(error) {
  if (/^E[MN]FILE$/.test(error.code)) {
    fail(
      9,
      'storage',
      'petstore could not be loaded (too many open files)',
      'raise the open file limit with `ulimit -n`',
    );
  } else {
    fail(1, 'internal', 'petstore could not be loaded', 'reinstall petstore');
  }
  if (given('--verbose', '-v')) process.stderr.write(`${error.stack}\n`);
}

const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  fail(2, 'usage', `petstore requires Node.js 20.19.0 or newer; this is ${process.versions.node}`, 'update Node.js');
} else {
  try {
    const load = require('node:module').enableCompileCache ? require('./compile-cache.js') : require;
    load(require.resolve('../dist/main.cjs')).ended.catch(crash);
  } catch (error) {
    crash(error);
  }
}
