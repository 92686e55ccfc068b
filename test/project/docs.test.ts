// The documentation: links, file names and generated parts.
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import type { Reference } from '../../scripts/generate-docs.mjs';
import { cliReference, exitCodeTable, replaceGenerated } from '../../scripts/generate-docs.mjs';
import { ENVIRONMENT, GLOBAL_OPTIONS } from '../../src/reference.ts';
import { BASE_ENV } from '../support/processes.ts';
import { BIN } from '../support/program.ts';

const root = join(import.meta.dirname, '../..');
const documents = ['README.md', ...readdirSync(join(root, 'docs')).map((name) => `docs/${name}`)]
  .filter((name) => name.endsWith('.md'))
  .map((name) => [name, readFileSync(join(root, name), 'utf8')] as const);

const sources = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((file) => /\.ts$/.test(file))
  .map((file) => ({ file, text: readFileSync(join(root, 'src', file), 'utf8') }));

test.each(documents)('every file that %s links to or names exists', (name, text) => {
  const links = [...text.matchAll(/\]\((?!https?:|#)([^)#]+)/g)].map(([, target = '']) => join(dirname(name), target));
  const files = [...text.matchAll(/`((?:bench|src|test|docs|scripts|bin)\/[\w./-]+)`/g)].map(([, path = '']) => path);
  expect([...links, ...files].filter((path) => !existsSync(join(root, path)))).toEqual([]);
});

test('every document that the source cites exists', () => {
  const cited = sources.flatMap(({ text }) => [...text.matchAll(/\bdocs\/[\w-]+\.md/g)].map(([path]) => path));
  expect(cited).toContain('docs/cli.md');
  expect([...new Set(cited)].filter((path) => !existsSync(join(root, path)))).toEqual([]);
});

test('the generated parts of docs/cli.md and README.md are up to date (npm run docs)', () => {
  const help = execFileSync(process.execPath, [BIN, '--help', '--json'], { encoding: 'utf8', env: BASE_ENV });
  const reference = JSON.parse(help) as Reference;
  for (const [file, name, text] of [
    ['docs/cli.md', 'command reference', cliReference(reference)],
    ['README.md', 'exit codes', exitCodeTable(reference)],
  ] as const) {
    const document = readFileSync(join(root, file), 'utf8');
    expect(document).toBe(replaceGenerated(document, name, text));
  }
});

test('the reference lists exactly the PETSTORE_ variables that the source reads', () => {
  const read = sources
    .filter(({ file }) => file !== 'reference.ts')
    .flatMap(({ text }) => [...text.matchAll(/'(PETSTORE_[A-Z_]+)'/g)].map(([, name]) => name));
  const options = GLOBAL_OPTIONS.flatMap(({ variable }) => variable ?? []);
  const known = ENVIRONMENT.map(({ name }) => name).filter((name) => name.startsWith('PETSTORE_'));
  expect([...new Set([...read, ...options.filter((name) => name.startsWith('PETSTORE_'))])].sort()).toEqual(
    known.sort(),
  );
});
