// The rules of docs/architecture.md: imports point down, one adapter per external dependency, a first line in every file.
import { readdirSync, readFileSync } from 'node:fs';
import { join, normalize, relative } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '../../src');
const files = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .filter((file) => /\.ts$/.test(file))
  .map((file) => file.replaceAll('\\', '/'))
  .sort();

interface Import {
  readonly target: string;
  readonly lazy: boolean;
  readonly typeOnly: boolean;
}

function importsOf(file: string): Import[] {
  const source = readFileSync(join(root, file), 'utf8').replace(/^\s*(?:\/\/|\*).*$/gm, '');
  const fixed = [...source.matchAll(/^(?:import|export)\s+(type\s)?[^;]*?from\s+'([^']+)'|^import\s+'([^']+)'/gm)];
  const lazy = [...source.matchAll(/\bimport\('([^']+)'\)/g)];
  return [
    ...fixed.map((m) => ({ target: m[2] ?? m[3] ?? '', lazy: false, typeOnly: m[1] !== undefined })),
    ...lazy.map((m) => ({ target: m[1] ?? '', lazy: true, typeOnly: /\.$/.test(source.slice(0, m.index)) })),
  ];
}

const graph = new Map(files.map((file) => [file, importsOf(file)]));
const resolve = (from: string, target: string): string =>
  normalize(relative(root, join(root, from, '..', target))).replaceAll('\\', '/');

// From top to bottom. A layer may import the layers after it; units on one line do not import each other.
const LAYERS = [
  ['main.ts'],
  ['program.ts'],
  ['commands', 'usage-error.ts'],
  ['client.ts'],
  ['command.ts'],
  ['session.ts'],
  ['report-error.ts', 'progress.ts'],
  ['import'],
  ['api'],
  ['http'],
  ['rate-limit', 'profiles', 'output', 'sandbox'],
  [
    'append-log',
    'errors.ts',
    'shell-quote.ts',
    'io.ts',
    'clock.ts',
    'escape.ts',
    'redact.ts',
    'format.ts',
    'system-error.ts',
    'json.ts',
    'version.ts',
    'did-you-mean.ts',
    'reference.ts',
  ],
];

function unitOf(file: string): string {
  const parts = file.split('/');
  if (parts.length === 1) return file;
  return parts[0] ?? file;
}

function levelOf(file: string): number {
  return LAYERS.findIndex((units) => units.includes(unitOf(file)));
}

test('every source file belongs to a layer', () => {
  expect(files.filter((file) => levelOf(file) < 0)).toEqual([]);
});

test('imports point down, and units of one layer do not import each other', () => {
  const wrong: string[] = [];
  for (const [file, imports] of graph) {
    for (const { target, typeOnly, lazy } of imports) {
      if (!target.startsWith('.')) continue;
      const to = resolve(file, target);
      const edge = `${file} -> ${to}`;
      const [from, at] = [levelOf(file), levelOf(to)];
      if (from < at || unitOf(file) === unitOf(to)) continue;
      // The lowest layer may import itself; types of the session and of commands may be imported from below.
      if (from === LAYERS.length - 1 && at === from) continue;
      if (typeOnly && (at >= levelOf('session.ts') || to.startsWith('commands/'))) continue;
      wrong.push(`${edge}${lazy ? ' (lazy)' : ''}`);
    }
  }
  expect(wrong).toEqual([]);
});

test('the rate-limit policy imports nothing but its own four files and types', () => {
  const own = ['policy.ts', 'pace.ts', 'window.ts', 'rules.ts'].map((file) => `rate-limit/${file}`);
  const foreign = own.flatMap((file) =>
    (graph.get(file) ?? [])
      .filter(({ target, typeOnly }) => !typeOnly && !own.includes(resolve(file, target)))
      .map(({ target }) => `${file}: ${target}`),
  );
  expect(foreign).toEqual([]);
});

test('imports have no cycles, types included', () => {
  const done = new Set<string>();
  const cycles: string[] = [];
  const visit = (file: string, path: readonly string[]): void => {
    if (path.includes(file)) {
      cycles.push([...path.slice(path.indexOf(file)), file].join(' -> '));
      return;
    }
    if (done.has(file)) return;
    for (const { target, lazy } of graph.get(file) ?? []) {
      if (target.startsWith('.') && !lazy) visit(resolve(file, target), [...path, file]);
    }
    done.add(file);
  };
  for (const file of files) visit(file, []);
  expect(cycles).toEqual([]);
});

// External package -> the files that may import it.
const ADAPTERS: Readonly<Record<string, readonly string[]>> = {
  undici: ['http/transport.ts', 'http/proxy-agent.ts', 'http/undici-parts.d.ts'],
  conf: ['profiles/conf-store.ts'],
  iovalkey: ['append-log/valkey-connection.ts'],
  ora: ['progress.ts'],
  chalk: ['output/render.ts'],
  'cli-table3': ['output/table.ts'],
  'csv-stringify': ['output/delimited.ts'],
  'string-width': ['output/table.ts'],
};

test('each external package has one adapter', () => {
  const wrong = [...graph].flatMap(([file, imports]) =>
    imports.flatMap(({ target }) => {
      const adapter = Object.entries(ADAPTERS).find(([name]) => target === name || target.startsWith(`${name}/`));
      return adapter && !adapter[1].includes(file) ? [`${file} -> ${target}`] : [];
    }),
  );
  expect(wrong).toEqual([]);
});

const code = (file: string): string =>
  readFileSync(join(root, file), 'utf8')
    .replace(/^\s*(?:\/\/|\/?\*).*$/gm, '')
    .replace(/'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`/g, "''");

// The two entry points: the command line and the client library.
const PROCESS_ADAPTERS = ['main.ts', 'client.ts'];

test('only the entry points use `process`, except for its clock and the ids in log records', () => {
  const users = files.filter(
    (file) =>
      !PROCESS_ADAPTERS.includes(file) && /\bprocess\.(?!hrtime\b|pid\b|platform\b|kill\b|getuid\b)/.test(code(file)),
  );
  expect(users).toEqual([]);
});

test('only the clock reads the time', () => {
  expect(
    files.filter((file) => file !== 'clock.ts' && /\bDate\.now\(|\bperformance\.now\(|new Date\(\)/.test(code(file))),
  ).toEqual([]);
});

test('every source file begins with a comment on its purpose', () => {
  expect(files.filter((file) => !/^\/\/ \S.{15,}/.test(readFileSync(join(root, file), 'utf8')))).toEqual([]);
});
