// The benchmarks run.
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { hasShell } from '../support/capabilities.ts';
import { BIN } from '../support/program.ts';

const root = join(import.meta.dirname, '../..');
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
  const benchmarks = readdirSync(join(root, 'bench'))
    .filter((file) => readFileSync(join(root, 'bench', file), 'utf8').includes('\nexport async function run('))
    .map((file) => file.replace('.ts', ''));
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
