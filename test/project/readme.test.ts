// The commands of README.md, run in order: their output, and the login.
import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { startSandbox } from '../../src/sandbox/start.ts';
import { hasShell, needs } from '../support/capabilities.ts';
import { ended, place } from '../support/processes.ts';
import { BIN } from '../support/program.ts';

const root = join(import.meta.dirname, '../..');
const readme = readFileSync(join(root, 'README.md'), 'utf8');

// Each command with its output.
const transcripts = [...readme.matchAll(/^\$ (.+)\n((?:(?!\$ |```).*\n)*)/gm)];

// Replaces times and counts, which differ between runs.
function timeless(text: string): string {
  return text.replace(/resets in (?:\d+s|1m)/g, 'resets in Ns').replace(/\b\d+ (of \d+ left)/g, 'N $1');
}

const home = place();

beforeAll(() => {
  const bin = join(home.dir, 'bin');
  mkdirSync(bin);
  symlinkSync(BIN, join(bin, 'petstore'));
  home.env['PATH'] = `${bin}:${home.env['PATH']}`;
});

async function shell(command: string): Promise<string> {
  const ending = await ended(spawn('bash', ['-c', `${command} 2>&1`], { env: home.env, cwd: home.dir }));
  return ending.out;
}

test('README.md contains more than eight commands with output', () => {
  expect(transcripts.length).toBeGreaterThan(8);
});

for (const [, command = '', output = ''] of transcripts) {
  const define = /\bjq\b/.test(command) ? needs('jq') : test.runIf(hasShell);
  define(`the README command \`${command}\` prints the documented output`, async () => {
    expect(timeless(await shell(command))).toBe(timeless(output));
  });
}

test.runIf(hasShell)('the README command that logs in saves a key from stdin, and a list then uses it', async () => {
  await using sandbox = await startSandbox();
  const [, command = ''] = /^(petstore auth login .*)$/m.exec(readme) ?? [];
  const login = `${command.replace('https://HOST/v1', sandbox.url)} && petstore categories list`;
  const child = spawn('bash', ['-c', login], { env: home.env, cwd: home.dir });
  child.stdin.end(`${sandbox.key}\n`);
  const { code, out } = await ended(child);
  expect({ code, out }).toEqual({ code: 0, out: expect.stringMatching(/^Saved .*production/) });
});
