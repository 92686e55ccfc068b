// The benchmarks start, and every file that they and the scripts name exists.
import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { hasShell } from '../support/capabilities.ts';
import { BIN } from '../support/program.ts';

const root = join(import.meta.dirname, '../..');
const textOf = (file: string): string => readFileSync(join(root, file), 'utf8');
const sources = ['bench', 'scripts'].flatMap((directory) =>
  readdirSync(join(root, directory)).flatMap((name) => (/\.m?[jt]s$/.test(name) ? [`${directory}/${name}`] : [])),
);

test('every path in the source of a benchmark or script exists', () => {
  const paths = sources.flatMap((file) =>
    [...textOf(file).matchAll(/'((?:bench|bin|docs|scripts|src|test)\/[\w./-]+\.\w+)'/g)].map(([, path = '']) => path),
  );
  expect(paths).toContain('bench/windows-guest.ts');
  expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});

// The smallest run of each benchmark.
const SMALLEST: Readonly<Record<string, readonly string[]>> = {
  fleet: ['imports', '0'],
  import: ['throughput', '5', '1'],
  'kill-rounds': ['--rounds', '0'],
  limiters: ['free'],
  limits: ['J', 'petstore'],
  mutations: ['0'],
  simulate: ['--worlds', '1'],
  speed: ['--runs', '0', '--rows', '5'],
};
/** They download Node.js, packages or a Debian chroot. */
const DOWNLOADING = ['binary', 'majors', 'windows'];

test('each benchmark is started by a test or downloads something', () => {
  const benchmarks = sources.flatMap((file) =>
    textOf(file).includes('\nexport async function run(') ? [file.replace(/^bench\/|\.ts$/g, '')] : [],
  );
  expect([...Object.keys(SMALLEST), ...DOWNLOADING].sort()).toEqual(benchmarks.sort());
});

const run = promisify(execFile);

test.runIf(hasShell).each(Object.entries(SMALLEST))(
  'the benchmark %s runs in its smallest size',
  async (name, args) => {
    const env = { ...process.env, PETSTORE_BIN: BIN };
    const { stdout } = await run(process.execPath, ['bench/run.mjs', name, ...args], { cwd: root, env });
    expect(stdout).not.toBe('');
  },
  120_000,
);
