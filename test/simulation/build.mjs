// Bundles the program with the simulator, and replaces the modules that access files, the network, time and randomness.
import { readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';

const here = fileURLToPath(new URL('.', import.meta.url));
const replaced = (name) => join(here, 'replaced', `${name}.ts`);
const PACKAGES = {
  'node:fs': replaced('fs'),
  fs: replaced('fs'),
  'node:crypto': replaced('crypto'),
  iovalkey: replaced('iovalkey'),
};
const MODULES = {
  'src/http/transport.ts': replaced('transport'),
  'src/shared-log/process-liveness.ts': replaced('process-liveness'),
};
/** Smaller sizes, so that logs rotate in short worlds, and longer pauses of processes that wait for each other. */
const LIMITS = {
  'src/import/import-categories.ts': [
    ['ROTATE_AT_BYTES = 64 * 1024;', 'ROTATE_AT_BYTES = 600;'],
    ['ROTATE_AT_RECORDS = 1000;', 'ROTATE_AT_RECORDS = 8;'],
  ],
  'src/import/lock.ts': [['POLL_MS = 200;', 'POLL_MS = 2000;']],
  'src/http/ticket-queue.ts': [['MAX_POLL_MS = 100;', 'MAX_POLL_MS = 500;']],
  'src/rate-limit/machine-ledger.ts': [['ROTATE_AT_BYTES = 48 * 1024;', 'ROTATE_AT_BYTES = 600;']],
  'src/rate-limit/shared-ledger.ts': [['ROTATE_AT = 200;', 'ROTATE_AT = 8;']],
};
const timer = (name) => [name, [replaced('timers'), name]];

/** @param file the path of the bundle */
export async function buildSimulator(file) {
  const loaded = new Set();
  const outside = {
    name: 'outside',
    resolveId(id, importer = '') {
      if (importer.startsWith(here)) return null;
      if (PACKAGES[id]) return `\0package:${PACKAGES[id]}`;
      const path = id.startsWith('.') ? resolve(importer, '..', id) : id;
      const found = Object.keys(MODULES).find((name) => path === resolve(here, '../..', name));
      return found ? MODULES[found] : null;
    },
    load(id) {
      // Add the default export that the original modules have.
      const [, path] = /^\0package:(.*)$/.exec(id) ?? [];
      if (path) {
        const from = JSON.stringify(path);
        return `import * as all from ${from}; export * from ${from}; export default all.everything;`;
      }
      const file = relative(resolve(here, '../..'), id);
      loaded.add(file);
      return LIMITS[file]?.reduce(changed, readFileSync(id, 'utf8')) ?? null;
    },
  };
  const withoutAjv = {
    name: 'without-ajv',
    resolveId: (id) => (/^ajv(?:-formats|\/dist\/2020\.js)$/.test(id) ? `\0${id}.cjs` : null),
    load: (id) => (id.startsWith('\0ajv') ? 'module.exports = {};' : null),
  };
  const names = ['setTimeout', 'setInterval', 'clearTimeout', 'clearInterval'];
  const bundle = await rolldown({
    input: join(here, 'main.ts'),
    platform: 'node',
    onLog(_level, { code, message }) {
      if (code === 'IMPORT_IS_UNDEFINED' || code === 'MISSING_EXPORT') throw new Error(message);
    },
    plugins: [outside, withoutAjv],
    transform: { define: { __VERSION__: '"0.0.0"' }, inject: Object.fromEntries(names.map(timer)) },
  });
  await bundle.write({ file, format: 'esm', codeSplitting: false });
  const missing = Object.keys(LIMITS).filter((name) => !loaded.has(name));
  if (missing.length > 0) throw new Error(`not in the program: ${missing.join(', ')}`);
}

function changed(text, [from, to]) {
  if (text.split(from).length !== 2) throw new Error(`not once in the source: ${from}`);
  return text.replace(from, () => to);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await buildSimulator(process.argv[2]);
