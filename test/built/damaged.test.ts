// A damaged installation: missing, truncated and removed files of the built program.
import { cpSync, readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { place } from '../support/processes.ts';
import { BIN, petstore, savedPlace } from '../support/program.ts';
import { tempDir } from '../support/temp-dir.ts';
import { serving } from '../support/world.ts';

/** A copy of the program to damage. */
function copy() {
  const root = tempDir();
  cpSync(dirname(dirname(BIN)), root, { recursive: true, verbatimSymlinks: true });
  return { bin: join(root, 'bin', 'petstore.js'), dist: join(root, 'dist') };
}

function truncateChunks(dist: string): void {
  for (const file of readdirSync(join(dist, 'chunks'))) truncateSync(join(dist, 'chunks', file), 100);
}

const TEXT = /^error: petstore could not be loaded\nhint: reinstall petstore\n$/;
const JSON_LINE = /^\{"error":\{"kind":"internal","message":"petstore could not be loaded",.*\}\}\n$/;

test.each<[string, (dist: string) => void, string[], RegExp]>([
  ['without main.cjs', (dist) => rmSync(join(dist, 'main.cjs')), [], TEXT],
  ['with an empty main.cjs', (dist) => truncateSync(join(dist, 'main.cjs')), ['--json'], JSON_LINE],
  ['with truncated chunks', truncateChunks, ['--verbose'], /\nhint: [\s\S]*Error[\s\S]*\n {4}at /],
])('petstore %s reports that it could not be loaded', async (_what, damage, format, err) => {
  const { bin, dist } = copy();
  damage(dist);
  const run = await petstore(place(), ['-p', 'sandbox', 'categories', 'list', ...format], '', bin);
  expect(run).toEqual({ code: 1, out: '', err: expect.stringMatching(err) });
});

test('if too many files are open at start-up, one error says so and its hint names the limit', async () => {
  const { bin, dist } = copy();
  writeFileSync(join(dist, 'main.cjs'), "throw Object.assign(new Error(), { code: 'EMFILE' })");
  const message = 'petstore could not be loaded (too many open files)';
  const err = `error: ${message}\nhint: raise the open file limit with \`ulimit -n\`\n`;
  expect(await petstore(place(), ['--version'], '', bin)).toEqual({ code: 9, out: '', err });
});

test('a create prints its result even if petstore is uninstalled before the response arrives', async () => {
  const { bin, dist } = copy();
  const { url } = await serving(() => {
    rmSync(dist, { recursive: true });
    return { status: 201, body: { id: 7, name: 'dog' } };
  });
  const run = await petstore(savedPlace(url), ['categories', 'create', '--name', 'dog'], '', bin);
  expect(run).toMatchObject({ code: 0, out: 'Created category "dog" (id 7)\n', err: '' });
});

test.each([
  ['as text', [], /^error: the outcome of creating "dog" is unknown: .*\nhint: /],
  ['as JSON', ['--json'], /^\{"error":\{"kind":"unknown_outcome",.*\}\}\n$/],
])('a create reports its error %s even if petstore is uninstalled before the response', async (_what, format, err) => {
  const { bin, dist } = copy();
  const { url } = await serving(() => {
    rmSync(dist, { recursive: true });
    return { status: 500 };
  });
  const run = await petstore(savedPlace(url), ['categories', 'create', '--name', 'dog', ...format], '', bin);
  expect(run).toEqual({ code: 8, out: '', err: expect.stringMatching(err) });
});
