// Commands that print the API key: real processes, with the time limit on a fake clock.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runKeyCommand } from '../../src/profiles/key-command.ts';
import { hasShell } from '../support/capabilities.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { tempDir } from '../support/temp-dir.ts';
import type { WorldOptions } from '../support/world.ts';
import { world } from '../support/world.ts';

const node = JSON.stringify(process.execPath);

function script(code: string): string {
  const path = join(tempDir(), 'key command.mjs');
  writeFileSync(path, code);
  return `${node} "${path}"`;
}

/** @returns the key, and the stderr that was shown */
async function run(commandLine: string, options: WorldOptions = {}): Promise<readonly [string, string]> {
  const context = world([], options);
  const key = await runKeyCommand(commandLine, 'profile "production"', context);
  return [key, context.stderr.text()];
}

test('a key command runs without a shell, and the first line of its stdout is the key', async () => {
  expect(await run(script('console.log("\\ufeffkey-1\\r\\nsecond line")'))).toEqual(['key-1', '']);
  const echo = script('console.log(process.argv.slice(2).join("|").replace(" ", "_"))');
  expect(await run(`${echo} 'a b' $HOME $(id)`)).toEqual(['a_b|$HOME|$(id)', '']);
});

test('the stderr of a key command is shown with control characters escaped, and its stdin is empty', async () => {
  const code =
    'process.stderr.write("touch\\u001b[31m the key\\n"); for await (const _ of process.stdin) throw 1; console.log("k")';
  expect(await run(script(code))).toEqual(['k', 'touch␛[31m the key\n']);
});

test.runIf(hasShell)('a key command receives no key, and neither URL nor password of the state server', async () => {
  const env = {
    PETSTORE_API_KEY: 'hidden',
    PETSTORE_STATE_URL: 'redis://u:hidden@h',
    PETSTORE_STATE_PASSWORD: 'hidden',
  };
  const [, seen] = await run(`sh -c 'env >&2; echo k'`, { env });
  expect(seen).toContain('PETSTORE_STATE_DIR');
  expect(seen).not.toContain('hidden');
});

test.runIf(hasShell).each([
  ['prints the key', 0],
  ['prints the key and fails', 3],
])('the stderr of a key command that %s is shown without the key', async (_what, code) => {
  const context = world([]);
  const line = `sh -c 'set -x; KEY=sk_secret_0123456789; echo "$KEY"; exit ${code}'`;
  await runKeyCommand(line, 'profile "production"', context).catch(() => undefined);
  expect(context.stderr.text()).toContain('+ KEY=[redacted]\n');
  expect(context.stderr.text()).not.toContain('secret');
});

test('a key command that floods both outputs ends, and at most 64 KiB of its stderr is shown', async () => {
  const code =
    'const all = "x".repeat(65536); console.log("k"); for (let i = 0; i < 500; i++) { process.stdout.write(all); process.stderr.write(all); }';
  expect(await run(script(code))).toEqual(['k', `${'x'.repeat(64 * 1024)}\n`]);
});

test.runIf(hasShell)('a background process that keeps stdout open does not delay a key command', async () => {
  const [key, pid] = await run(`sh -c 'sleep 20 & echo $! >&2; echo the-key'`);
  expect(key).toBe('the-key');
  process.kill(Number(pid));
});

test.each([
  ['exits with 7', script('process.exit(7)'), /^key command `[^` ]*node[^` ]*` failed \(exit code 7\)$/],
  ['has a token in its arguments', 'no-such-program --token abc', /^key command `no-such-program` failed \(.*\)$/],
  [
    'does not exist',
    'no-such-program-anywhere',
    /^key command `no-such-program-anywhere` failed \(command not found\)$/,
  ],
  ['prints no key', script(''), /^the API key from the key command from profile "production" is empty$/],
  ['is empty', ' ', /^the key command from profile "production" is empty$/],
])('a key command that %s causes an auth error that names at most the program', async (_what, commandLine, message) => {
  await expect(run(commandLine)).rejects.toMatchObject({ kind: 'auth', message: expect.stringMatching(message) });
});

test('a key command that runs longer than 30 s is stopped', async () => {
  const clock = new FakeClock();
  const message = expect.stringContaining('no key within 30s');
  const failed = expect(run(script('setInterval(() => {}, 1000)'), { clock })).rejects.toMatchObject({
    kind: 'auth',
    message,
  });
  await clock.advance(30_000);
  await failed;
});

test('Ctrl-C stops a key command', async () => {
  const interrupt = new AbortController();
  const running = run(script('setInterval(() => {}, 1000)'), { signal: interrupt.signal });
  interrupt.abort(new Error('interrupted'));
  await expect(running).rejects.toThrow('interrupted');
});
