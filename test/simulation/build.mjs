// Bundles the simulator with the program in it: the modules that touch the outside are replaced by those of the world.
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
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
  'src/append-log/process-liveness.ts': replaced('process-liveness'),
};
const timer = (name) => [name, [replaced('timers'), name]];

/**
 * @param file where the bundle goes
 * @param mutation a text of one source file and what replaces it, to see whether the worlds notice
 */
export async function buildSimulator(file, mutation) {
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
      // With a default export, which the packages' own modules have.
      const [, path] = /^\0package:(.*)$/.exec(id) ?? [];
      if (path) {
        const from = JSON.stringify(path);
        return `import * as all from ${from}; export * from ${from}; export default all.everything;`;
      }
      if (!mutation || id !== resolve(here, '../..', mutation.file)) return null;
      const text = readFileSync(id, 'utf8');
      if (text.split(mutation.from).length !== 2) throw new Error(`not once in ${mutation.file}: ${mutation.from}`);
      return text.replace(mutation.from, () => mutation.to);
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
    logLevel: 'silent',
    plugins: [outside, withoutAjv],
    transform: { define: { __VERSION__: '"0.0.0"' }, inject: Object.fromEntries(names.map(timer)) },
  });
  await bundle.write({ file, format: 'esm', codeSplitting: false });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await buildSimulator(process.argv[2]);
