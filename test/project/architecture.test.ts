// The rules of docs/architecture.md that the linter cannot check: layers and time.
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
client.ts
cli/command.ts
cli/session.ts
cli/report-error.ts cli/progress.ts
cli/rows
import
api
http
rate-limit cli/profiles cli/output sandbox
shared-log settings text client-types.ts clock.ts error-kind.ts errors.ts version.ts cli/global-options.ts cli/context.ts cli/reference.ts cli/shell-quote.ts`
  .split('\n')
  .map((layer) => layer.split(' '));

const unitOf = (file: string): string => /^(?:cli\/)?[^/]+/.exec(file)?.[0] ?? file;
const levelOf = (file: string): number => LAYERS.findIndex((units) => units.includes(unitOf(file)));

test('every source file is in a layer and imports only lower layers, except for types and imports within the lowest layer', () => {
  expect(texts.filter(([file]) => levelOf(file) < 0)).toEqual([]);
  const wrong: string[] = [];
  for (const [file, text] of texts) {
    const imports = /^(?:import|export)\s(type\s)?[^;]*?from '(\.[^']+)'|\bimport\('(\.[^']+)'\)/gm;
    for (const [, isType, fixed, lazy] of text.matchAll(imports)) {
      const to = posix.join(posix.dirname(file), fixed ?? lazy ?? '');
      const [from, at] = [levelOf(file), levelOf(to)];
      if (from < at || unitOf(file) === unitOf(to)) continue;
      // Units of the lowest layer may import each other; lower layers may import types of the session and commands.
      if (from === LAYERS.length - 1 && at === from) continue;
      if (isType && (at >= levelOf('cli/session.ts') || to.startsWith('cli/commands/'))) continue;
      wrong.push(`${file} -> ${to}`);
    }
  }
  expect(wrong).toEqual([]);
});

test('only clock.ts reads the time', () => {
  const reading = texts.filter(([, text]) => /^(?!\s*(?:\/\/|\/?\*)).*(?:\bDate\.now\(|new Date\(\))/m.test(text));
  expect(reading.map(([file]) => file)).toEqual(['clock.ts']);
});
