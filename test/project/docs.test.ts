// The documentation: links lead somewhere, files it names exist.
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { BASE_ENV } from '../support/processes.ts';
import { BIN } from '../support/program.ts';

const root = join(import.meta.dirname, '../..');
const documents = ['README.md', ...readdirSync(join(root, 'docs')).map((name) => `docs/${name}`)]
  .filter((name) => name.endsWith('.md'))
  .map((name) => ({ name, text: readFileSync(join(root, name), 'utf8') }));

test.each(documents)('links and file names in $name lead to files', ({ name, text }) => {
  const links = [...text.matchAll(/\]\((?!https?:|#)([^)#]+)/g)].map(([, target = '']) => join(dirname(name), target));
  const files = [...text.matchAll(/`((?:src|test|docs|scripts|bin)\/[\w./-]+)`/g)].map(([, path = '']) => path);
  expect([...links, ...files].filter((path) => !existsSync(join(root, path)))).toEqual([]);
});

test('documents that comments cite exist', () => {
  const sources = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' }).filter((file) =>
    /\.ts$/.test(file),
  );
  const cited = sources.flatMap((file) =>
    [...readFileSync(join(root, 'src', file), 'utf8').matchAll(/\bdocs\/[\w-]+\.md/g)].map(([path]) => path),
  );
  expect([...new Set(cited)].filter((path) => !existsSync(join(root, path)))).toEqual([]);
});

test('the command part of docs/cli.md is up to date (npm run docs)', () => {
  const script = join(root, 'scripts', 'cli-reference.mjs');
  const printed = execFileSync(process.execPath, [script, '--print', BIN], { encoding: 'utf8', env: BASE_ENV });
  expect(readFileSync(join(root, 'docs', 'cli.md'), 'utf8')).toBe(printed);
});
