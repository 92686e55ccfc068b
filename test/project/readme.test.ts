// Runs the transcripts of the README in order and compares their output.
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
/** The address of the sandbox that the README starts in another terminal. */
const README_HOST = '127.0.0.1:4010';
let host: string;

beforeAll(async () => {
  const bin = join(home.dir, 'bin');
  mkdirSync(bin);
  symlinkSync(BIN, join(bin, 'petstore'));
  home.env['PATH'] = `${bin}:${home.env['PATH']}`;
  const { url, close } = await startSandbox();
  host = new URL(url).host;
  return close;
});

async function shell(command: string): Promise<string> {
  const script = `${command.replaceAll(README_HOST, host)} 2>&1`;
  return (await ended(spawn('bash', ['-c', script], { env: home.env, cwd: home.dir }))).out.replaceAll(
    host,
    README_HOST,
  );
}

test('README.md contains more than eight commands with output', () => {
  expect(transcripts.length).toBeGreaterThan(8);
});

for (const [, command = '', output = ''] of transcripts) {
  const define = /\bjq\b/.test(command) ? needs('jq') : test.runIf(hasShell);
  define(`the README command "${command}" prints the documented output`, async () => {
    expect(timeless(await shell(command))).toBe(timeless(output));
  });
}
