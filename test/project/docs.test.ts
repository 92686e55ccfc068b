// The documentation: links, names, commands, shell blocks and generated parts.
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import parseArgv from 'string-argv';
import { expect, onTestFinished, test } from 'vitest';
import { ENVIRONMENT, GLOBAL_OPTIONS } from '../../src/cli/reference.ts';
import { startSandbox } from '../../src/sandbox/start.ts';
import { hasShell, needs } from '../support/capabilities.ts';
import { ended, place } from '../support/processes.ts';
import { BIN } from '../support/program.ts';
import { startTcpServer } from '../support/raw-server.ts';
import { SERVER_PROGRAMS } from '../support/redis-server.ts';
import { tempDir } from '../support/temp-dir.ts';
import { inProcess } from '../support/world.ts';

const root = join(import.meta.dirname, '../..');
const namesIn = (directory: string): string[] =>
  readdirSync(join(root, directory), { recursive: true, encoding: 'utf8' }).map((name) => join(directory, name));
const textOf = (file: string): string => readFileSync(join(root, file), 'utf8');
const documents = [
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  ...namesIn('docs').filter((file) => file.endsWith('.md')),
];
const sources = ['src', 'bench', 'scripts'].flatMap(namesIn).filter((file) => /\.m?[jt]s$/.test(file));

test('every file that a document links to, or that a document, source file or script names, exists', () => {
  const links = documents.flatMap((file) =>
    [...textOf(file).matchAll(/\]\((?!https?:|#)([^)#]+)/g)].map(([, target = '']) => join(dirname(file), target)),
  );
  const named = [...documents, ...sources].flatMap((file) =>
    [...textOf(file).matchAll(/['`]((?:bench|bin|docs|scripts|src|test)\/[\w./-]+\.\w+)['`]/g)].map(
      ([, path = '']) => path,
    ),
  );
  const cited = sources.flatMap((file) => [...textOf(file).matchAll(/\bdocs\/[\w-]+\.md/g)].map(([path]) => path));
  expect([links.length > 20, named.length > 20, cited.length > 10]).toEqual([true, true, true]);
  expect([...new Set([...links, ...named, ...cited])].filter((path) => !existsSync(join(root, path)))).toEqual([]);
});

test('every anchor that a document links to is a heading of its page', () => {
  // Anchors as GitHub derives them from headings.
  const anchorsOf = (file: string): string[] =>
    [...textOf(file).matchAll(/^#+ (.*)$/gm)].map(([, title = '']) =>
      title
        .toLowerCase()
        .replaceAll(/[^\w -]/g, '')
        .replaceAll(' ', '-'),
    );
  const links = documents.flatMap((file) =>
    [...textOf(file).matchAll(/\]\((?!https?:)([^)#]*)#([^)]+)\)/g)].map(([, page = '', anchor = '']) => ({
      page: page ? join(dirname(file), page) : file,
      anchor,
    })),
  );
  expect(links.length).toBeGreaterThan(10);
  expect(links.filter(({ page, anchor }) => !anchorsOf(page).includes(anchor))).toEqual([]);
});

test('the generated part of docs/cli.md is the output of `npm run docs`', () => {
  const generated = tempDir();
  execFileSync(process.execPath, [join(root, 'scripts/generate-docs.mjs'), generated, BIN]);
  expect(readFileSync(join(generated, 'docs/cli.md'), 'utf8')).toBe(textOf('docs/cli.md'));
});

test('`src/cli/reference.ts` lists exactly the PETSTORE_ variables that the source reads', () => {
  const read = sources
    .filter((file) => file.startsWith('src') && !/(?:reference|help)\.ts$/.test(file))
    .flatMap((file) => [...textOf(file).matchAll(/'(PETSTORE_[A-Z_]+)'/g)].map(([, name]) => name));
  const options = GLOBAL_OPTIONS.map(({ variable }) => variable);
  const ours = (names: readonly unknown[]) => new Set(names.filter((name) => String(name).startsWith('PETSTORE_')));
  expect(ours([...read, ...options])).toEqual(ours([...ENVIRONMENT.map(({ name }) => name), ...options]));
});

// The commands in code spans and shell blocks.
const commands = documents.flatMap((file) => {
  const text = textOf(file);
  const blocks = [...text.matchAll(/^```(?:sh|console)\n(.*?)^```/gms)].flatMap(([, block = '']) => block.split('\n'));
  const spans = [...text.matchAll(/`(petstore [^`]+)`/g)].map(([, span = '']) => span);
  return [...blocks, ...spans].flatMap((line) => /(?:^|[|$] )petstore ([^|#]*)/.exec(line)?.[1]?.trim() ?? []);
});

test.each([...new Set(commands)])(
  'the command and the options of `petstore %s` in the documents exist',
  async (line) => {
    const { code, err } = await inProcess([...parseArgv(line.replace('COMMAND', 'doctor')), '--help']);
    expect({ code, err }).toEqual({ code: 0, err: '' });
  },
);

test.runIf(hasShell)('the `sh` code blocks in the documents have no syntax errors', () => {
  const blocks = documents.flatMap((file) =>
    [...textOf(file).matchAll(/^```sh\n(.*?)^```/gms)].map(([, block]) => block),
  );
  execFileSync('bash', ['-n', '-c', blocks.join('\n')], { stdio: 'pipe' });
});

test('every tarball that the documents name has the name and the version of the package', () => {
  const { name, version } = JSON.parse(textOf('package.json')) as { name: string; version: string };
  const files = documents.flatMap((file) => [...textOf(file).matchAll(/[\w.-]+\.tgz/g)].map(([tarball]) => tarball));
  expect(new Set(files)).toEqual(new Set([`${name}-${version}.tgz`]));
});

test('every npm script and benchmark that the documents name exists', () => {
  const text = documents.map(textOf).join('\n');
  const namesOf = (pattern: RegExp): string[] => [...text.matchAll(pattern)].map(([, name = '']) => name);
  const { scripts } = JSON.parse(textOf('package.json')) as { scripts: object };
  const benchmarks = namesIn('bench').filter((file) => textOf(file).includes('export async function run('));
  expect(Object.keys(scripts)).toEqual(expect.arrayContaining(namesOf(/npm run ([a-z:]+)/g)));
  expect(benchmarks).toEqual(
    expect.arrayContaining(namesOf(/npm run bench -- ([a-z-]+)/g).map((name) => `bench/${name}.ts`)),
  );
});

needs('redis')(
  'with the setup of docs/fleet.md, `doctor` accepts the state server without a warning, and a create succeeds',
  async () => {
    await using sandbox = await startSandbox();
    const home = place({ PETSTORE_BASE_URL: sandbox.url, PETSTORE_API_KEY: sandbox.key });
    const bin = join(home.dir, 'bin');
    mkdirSync(bin);
    symlinkSync(BIN, join(bin, 'petstore'));
    // The installed server, on loopback only and without a data file; it evicts keys unless the setup forbids this.
    const evicting = '- --maxmemory 100mb --maxmemory-policy allkeys-lru';
    const server = `exec env -u LD_PRELOAD ${SERVER_PROGRAMS[0]} ${evicting} "$@" --bind 127.0.0.1 --save '' --pidfile ${home.dir}/pid`;
    writeFileSync(join(bin, 'valkey-server'), `#!/bin/sh\nshift\n${server}\n`, { mode: 0o755 });
    const free = await startTcpServer(() => undefined);
    free.close();
    const [, block = ''] = /^```sh\n(.*?)^```/ms.exec(textOf('docs/fleet.md')) ?? [];
    onTestFinished(() => void process.kill(Number(readFileSync(join(home.dir, 'pid'), 'utf8'))));
    const env = { ...home.env, PATH: `${bin}:${home.env['PATH']}` };
    const script = block.replaceAll('6379', String(free.port));
    const { code, out, err } = await ended(spawn('bash', ['-c', script], { env, cwd: home.dir }));
    expect({ code, err }).toMatchObject({ code: 0, err: expect.not.stringContaining('warning') });
    expect(out).toMatch(/^ok +State server +127\.0\.0\.1:\d+/m);
    expect(out).toContain('Created category "dog" (id 1)');
  },
);
