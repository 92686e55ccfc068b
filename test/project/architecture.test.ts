// The rules of docs/architecture.md that the linter cannot check: layers, time and names of the command line.
import { readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '../../src');
const texts = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts'))
  .map((file) => [file.replaceAll('\\', '/'), readFileSync(join(root, file), 'utf8')] as const);

// From top to bottom: a unit imports only units of later layers.
const LAYERS = `main.ts
cli/program.ts
cli/commands
cli/usage-error.ts
cli/command.ts
cli/session.ts
cli/report-error.ts cli/progress.ts
cli/profiles cli/rows cli/output
cli/hints.ts cli/global-options.ts cli/context.ts cli/reference.ts cli/shell-quote.ts
client.ts
import
service.ts
api
http
rate-limit sandbox
settings shared-log text clock.ts errors.ts public-types.ts version.ts`
  .split('\n')
  .map((layer) => layer.split(' '));

const unitOf = (file: string): string => /^(?:cli\/)?[^/]+/.exec(file)?.[0] ?? file;
const levelOf = (file: string): number => LAYERS.findIndex((units) => units.includes(unitOf(file)));

test('every source file is in a layer and imports nothing from a higher one, except that the command line imports types', () => {
  expect(texts.filter(([file]) => levelOf(file) < 0)).toEqual([]);
  const wrong: string[] = [];
  for (const [file, text] of texts) {
    const imports = /^(?:import|export)\s(type\s)?[^;]*?from '(\.[^']+)'|\bimport\('(\.[^']+)'\)/gm;
    for (const [, isType, fixed, lazy] of text.matchAll(imports)) {
      const to = posix.join(posix.dirname(file), fixed ?? lazy ?? '');
      const [from, at] = [levelOf(file), levelOf(to)];
      if (from < at || unitOf(file) === unitOf(to)) continue;
      // Units of the lowest layer may import each other, and so may units of the lowest command-line layer.
      if (at === from && (from === LAYERS.length - 1 || from === levelOf('cli/hints.ts'))) continue;
      // The command line may import all types.
      if (isType && file.startsWith('cli/')) continue;
      wrong.push(`${file} -> ${to}`);
    }
  }
  expect(wrong).toEqual([]);
});

test('only clock.ts reads the time', () => {
  const reading = texts.filter(([, text]) =>
    /^(?!\s*(?:\/\/|\/?\*)).*(?:\bDate\.now\b|\bDate\(\)|\bperformance\b|\bperf_hooks\b|\bhrtime\b)/m.test(text),
  );
  expect(reading.map(([file]) => file)).toEqual(['clock.ts']);
});

// `settings/paths.ts` reads PETSTORE_CONFIG_DIR, and PETSTORE_STATE_DIR, which the client library reads, too.
test('no code below `client.ts` names a command, an option or a PETSTORE_ variable, except `settings/paths.ts`', () => {
  const below = texts.filter(([file]) => levelOf(file) > levelOf('client.ts') && file !== 'settings/paths.ts');
  const commandLine = /`petstore |'--?[a-z]|`--[a-z]| --[a-z-]+(?![\w.])|PETSTORE_|\['?(?:auth|categories)', '/;
  const lines = below.flatMap(([file, text]) => text.split('\n').map((line) => `${file}: ${line.trim()}`));
  expect(lines.filter((line) => !/^\S+: (?:\/?\*|\/\/)/.test(line) && commandLine.test(line))).toEqual([]);
});
