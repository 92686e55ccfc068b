// Runs the transcripts of the README in order and compares their output.
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { SANDBOX_KEY } from '../../src/sandbox/server.ts';
import { hasShell } from '../support/capabilities.ts';
import type { SandboxProcess } from '../support/processes.ts';
import { ended, place, startSandbox } from '../support/processes.ts';
import { BIN } from '../support/program.ts';

const hasJq = spawnSync('jq', ['--version']).status === 0;

const root = join(import.meta.dirname, '../..');
const readme = readFileSync(join(root, 'README.md'), 'utf8');
const packageJson = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: { demo: string } };

/** Each command with its output. */
const transcripts = [...readme.matchAll(/```console\n([\s\S]*?)```/g)].flatMap(([, block = '']) =>
  block
    .split(/^\$ /m)
    .slice(1)
    .map((step) => step.split(/\n(.*)/s)),
);

// Replaces times and counts, which differ between runs.
function timeless(text: string): string {
  return text
    .replace(/resets in (?:\d+s|1m)/g, 'resets in Ns')
    .replace(/at \d{4}-\d\d-\d\dT[\d:.]+Z, in (?:\d+s|1m)/g, 'at TIME, in Ns')
    .replace(/\b(?:\d+s ago|just now); \d+ process(?:es)?/g, 'N ago; N processes')
    .replace(/\b\d+ (of \d+ left)/g, 'N $1');
}

const home = place();
/** The sandbox that the README starts in another terminal, on another port. */
let sandbox: SandboxProcess;
const README_HOST = '127.0.0.1:4010';

beforeAll(async () => {
  const bin = join(home.dir, 'bin');
  mkdirSync(bin);
  symlinkSync(BIN, join(bin, 'petstore'));
  home.env['PATH'] = `${bin}:${home.env['PATH']}`;
  sandbox = await startSandbox(BIN, ['--key', SANDBOX_KEY]);
  // The README shows the sandbox as the demo leaves it.
  await shell(packageJson.scripts.demo.replaceAll('node bin/petstore.js', 'petstore'));
});

afterAll(() => sandbox.stop());

async function shell(command: string): Promise<string> {
  const { host } = new URL(sandbox.env['PETSTORE_BASE_URL'] ?? '');
  const child = spawn('bash', ['-c', `${command.replaceAll(README_HOST, host)} 2>&1`], {
    env: home.env,
    cwd: home.dir,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  return (await ended(child)).out.replaceAll(host, README_HOST);
}

test('README.md contains more than eight commands with output', () => {
  expect(transcripts.length).toBeGreaterThan(8);
});

for (const [command = '', output = ''] of transcripts) {
  // CI has jq.
  const canRun = hasShell && (hasJq || !/\bjq\b/.test(command));
  test.runIf(canRun)(`the README command "${command}" prints the documented output`, async () => {
    expect(timeless(await shell(command))).toBe(timeless(output));
  });
}
