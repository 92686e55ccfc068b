// The rules of docs/architecture.md that the linter cannot check: layers, time, a comment at the top of each file.
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
  readonly typeOnly: boolean;
}

function importsOf(file: string): Import[] {
  const source = readFileSync(join(root, file), 'utf8').replace(/^\s*(?:\/\/|\*).*$/gm, '');
  const fixed = [...source.matchAll(/^(?:import|export)\s+(type\s)?[^;]*?from\s+'([^']+)'|^import\s+'([^']+)'/gm)];
  const lazy = [...source.matchAll(/\bimport\('([^']+)'\)/g)];
  return [
    ...fixed.map((m) => ({ target: m[2] ?? m[3] ?? '', typeOnly: m[1] !== undefined })),
    ...lazy.map((m) => ({ target: m[1] ?? '', typeOnly: /\.$/.test(source.slice(0, m.index)) })),
  ];
}

const graph = new Map(files.map((file) => [file, importsOf(file)]));
const resolve = (from: string, target: string): string =>
  normalize(relative(root, join(root, from, '..', target))).replaceAll('\\', '/');

// From top to bottom: a unit imports only units of later layers.
const LAYERS = `main.ts
program.ts
commands usage-error.ts
client.ts
command.ts
session.ts
report-error.ts progress.ts
import
api
http
rate-limit profiles output sandbox
append-log check-options.ts clock.ts did-you-mean.ts errors.ts escape.ts format.ts io.ts json.ts redact.ts reference.ts shell-quote.ts system-error.ts version.ts`
  .split('\n')
  .map((layer) => layer.split(' '));

const unitOf = (file: string): string => file.split('/')[0] ?? file;
const levelOf = (file: string): number => LAYERS.findIndex((units) => units.includes(unitOf(file)));

test('every source file is in a layer and imports only lower layers, except for types and imports within the lowest layer', () => {
  expect(files.filter((file) => levelOf(file) < 0)).toEqual([]);
  const wrong: string[] = [];
  for (const [file, imports] of graph) {
    for (const { target, typeOnly } of imports) {
      if (!target.startsWith('.')) continue;
      const to = resolve(file, target);
      const [from, at] = [levelOf(file), levelOf(to)];
      if (from < at || unitOf(file) === unitOf(to)) continue;
      // Units of the lowest layer may import each other; lower layers may import types of the session and commands.
      if (from === LAYERS.length - 1 && at === from) continue;
      if (typeOnly && (at >= levelOf('session.ts') || to.startsWith('commands/'))) continue;
      wrong.push(`${file} -> ${to}`);
    }
  }
  expect(wrong).toEqual([]);
});

test('the four files of the rate-limit policy import only each other and types', () => {
  const own = ['policy.ts', 'pace.ts', 'window.ts', 'rules.ts'].map((file) => `rate-limit/${file}`);
  const foreign = own.flatMap((file) =>
    (graph.get(file) ?? [])
      .filter(({ target, typeOnly }) => !typeOnly && !own.includes(resolve(file, target)))
      .map(({ target }) => `${file}: ${target}`),
  );
  expect(foreign).toEqual([]);
});

test('only clock.ts reads the time', () => {
  const code = (file: string) => readFileSync(join(root, file), 'utf8').replace(/^\s*(?:\/\/|\/?\*).*$/gm, '');
  expect(files.filter((file) => file !== 'clock.ts' && /\bDate\.now\(|new Date\(\)/.test(code(file)))).toEqual([]);
});

test('every source file begins with a comment on its purpose', () => {
  expect(files.filter((file) => !/^\/\/ \S.{15,}/.test(readFileSync(join(root, file), 'utf8')))).toEqual([]);
});
