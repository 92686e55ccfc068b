// Parts of packages that this program never reaches, left out of its bundles: each costs start-up time.

// undici's HTTP/1.1 client names HTTP/2 (off here) and fetch bodies (bytes here).
const UNREACHED = /undici[\\/]lib[\\/](?:dispatcher[\\/]client-h2|web[\\/]fetch[\\/]body)\.js$/;

/** Package -> module that it imports -> what it gets. */
const STUBS = {
  commander: { 'node:child_process': 'module.exports = {};' },
  undici: {
    // Named only for a default that src/http/transport.ts states itself, and for streams as bodies.
    'node:http': 'module.exports = {};',
    'node:assert': 'module.exports = (ok, message) => { if (!ok) throw new Error(message ?? "assertion failed"); };',
  },
  // Text is measured by functions that src/output/table.ts replaces; headings, which it would colour, are not given.
  'cli-table3': { 'string-width': 'module.exports = () => 0;', '@colors/colors/safe': 'module.exports = {};' },
  // What it would log for DEBUG contains passwords.
  iovalkey: { debug: 'exports.default = () => () => undefined;' },
  // No schema, encryption, watcher or default folder is used, and the write is ours (docs/architecture.md, conf).
  conf: {
    'ajv/dist/2020.js': 'exports.Ajv2020 = undefined;',
    'ajv-formats': 'module.exports = {};',
    'debounce-fn': 'module.exports = {};',
    'env-paths': 'module.exports = {};',
    atomically: 'exports.writeFileSync = undefined;',
    'node:crypto': 'module.exports = {};',
    // Compares the file with the defaults, of which there are none.
    'node:assert': 'module.exports = { deepEqual() {} };',
  },
};

// What string-width makes as it loads costs every table 20 ms, and most text needs neither: they are made on first use.
const MADE_LAZILY = {
  'const segmenter = new Intl.Segmenter();':
    'let made; const segmenter = { segment: (text) => (made ??= new Intl.Segmenter()).segment(text) };',
  'const rgiEmojiRegex = /^\\p{RGI_Emoji}$/v;':
    'let emoji; const rgiEmojiRegex = { test: (text) => (emoji ??= new RegExp("^\\\\p{RGI_Emoji}$", "v")).test(text) };',
};

/** A rolldown plugin. */
export const bundleStubs = {
  name: 'bundle-stubs',
  resolveId(id, importer = '') {
    const [, name = ''] = /node_modules[\\/](commander|undici|conf|iovalkey|cli-table3)[\\/]/.exec(importer) ?? [];
    return STUBS[name]?.[id] === undefined ? null : `\0stub:${name}:${id}.cjs`;
  },
  load(id) {
    if (UNREACHED.test(id)) return 'module.exports = {};';
    const [, name = '', module = ''] = /^\0stub:([\w-]+):(.+)\.cjs$/.exec(id) ?? [];
    return STUBS[name]?.[module] ?? null;
  },
  transform(code, id) {
    if (!/node_modules[\\/]string-width[\\/]index\.js$/.test(id)) return null;
    return Object.entries(MADE_LAZILY).reduce((text, [eager, lazy]) => {
      if (!text.includes(eager)) throw new Error('string-width has changed: see scripts/bundle-stubs.mjs');
      return text.replace(eager, () => lazy);
    }, code);
  },
};
