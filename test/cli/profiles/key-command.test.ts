// Commands that print the API key: real processes.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runKeyCommand } from '../../../src/cli/profiles/key-command.ts';
import { hasShell } from '../../support/capabilities.ts';
import { until } from '../../support/processes.ts';
import { tempDir } from '../../support/temp-dir.ts';
import type { WorldOptions } from '../../support/world.ts';
import { world } from '../../support/world.ts';

const node = JSON.stringify(process.execPath);
const SOURCE = 'the key command from profile "production"';
const saved = (line: string) => ({ line, source: SOURCE, profile: 'production' });

function script(code: string): string {
  const path = join(tempDir(), 'key command.mjs');
  writeFileSync(path, code);
  return `${node} "${path}"`;
}

/** @returns the key, and the stderr that was shown */
async function run(commandLine: string, options: WorldOptions = {}): Promise<readonly [string, string]> {
  const context = world([], options);
  const key = await runKeyCommand(saved(commandLine), context);
  return [key, context.stderr.text()];
}

test('a key command runs without a shell, and the first line of its stdout is the key', async () => {
  expect(await run(script('console.log("\\ufeffkey-1\\r\\nsecond line")'))).toEqual(['key-1', '']);
  const echo = script('console.log(process.argv.slice(2).join("|").replace(" ", "_"))');
  expect(await run(`${echo} 'a b' $HOME $(id)`)).toEqual(['a_b|$HOME|$(id)', '']);
});

test('a key command has an empty stdin, and its stderr is shown with control characters escaped', async () => {
  const code =
    'process.stderr.write("touch\\u001b[31m the key\\n"); for await (const _ of process.stdin) throw 1; console.log("k")';
  expect(await run(script(code))).toEqual(['k', 'touch␛[31m the key\n']);
});

test.runIf(hasShell)('a key command receives no API key, and no URL or password of the state server', async () => {
  const env = { PETSTORE_API_KEY: 'hush', PETSTORE_STATE_URL: 'redis://u:hush@h', PETSTORE_STATE_PASSWORD: 'hush' };
  const [, seen] = await run(`sh -c 'env >&2; echo k'`, { env });
  expect(seen).toContain('PETSTORE_STATE_DIR');
  expect(seen).not.toContain('hush');
});

test.runIf(hasShell).each([
  ['prints the key', 0],
  ['prints the key and fails', 3],
])('the stderr of a key command that %s is shown with the key redacted', async (_what, code) => {
  const context = world([]);
  const line = `sh -c 'set -x; KEY=sk_secret_0123456789; echo "$KEY"; exit ${code}'`;
  await runKeyCommand(saved(line), context).catch(() => undefined);
  expect(context.stderr.text()).toContain('+ KEY=[redacted]\n');
  expect(context.stderr.text()).not.toContain('secret');
});

const CORRECT = 'run `petstore auth login production --key-command COMMAND` to replace the key command';
const IS_KEY = new RegExp(`^${SOURCE} looks like an API key$`);
const UNCLOSED = new RegExp(`^${SOURCE} has an unclosed quote$`);
const NOT_STARTED = /^key command `\S*` failed \((?:not a directory|command not found)\)$/;
const KILLED = /^key command `\S*` failed \((?:signal SIGKILL|exit code 1)\)$/;
const FLOOD =
  'const all = "x".repeat(65536); for (let i = 0; i < 20; i++) process.stdout.write(all); setInterval(() => {}, 1000)';
const TOO_LONG = /^key command `\S*` failed \(output larger than 1 MiB\)$/;

test.each([
  ['exits with code 7', script('process.exit(7)'), /^key command `[^` ]*node[^` ]*` failed \(exit code 7\)$/, CORRECT],
  ['is killed', script('process.kill(process.pid, "SIGKILL")'), KILLED, CORRECT],
  ['does not exist', 'no-such-program -t abc', /^key command `no-such-program` failed \(command not found\)$/, CORRECT],
  ['cannot be started', `${import.meta.filename}/x`, NOT_STARTED, CORRECT],
  ['prints nothing', script(''), /^key command `\S*` printed nothing$/, CORRECT],
  ['prints 1.25 MiB and never ends', script(FLOOD), TOO_LONG, CORRECT],
  ['has an unclosed quote', `echo "unbalanced`, UNCLOSED, 'add the missing quote'],
  ['has a single apostrophe', `echo don't`, UNCLOSED, 'add the missing quote'],
  ['prints two words', script('console.log("a key")'), /^the API key from key command `\S*` contains a space/, CORRECT],
  ['is empty', ' ', new RegExp(`^${SOURCE} is empty$`), `set ${SOURCE} to a command that prints the API key`],
  ['is a key', 'pk_live_0123456789abcdef', IS_KEY, 'set PETSTORE_API_KEY to the key'],
  ['is a restricted key', 'rk_live_0123456789abcdef', IS_KEY, 'set PETSTORE_API_KEY to the key'],
  ['is a sandbox key', 'sandbox_0123456789abcdef', IS_KEY, 'set PETSTORE_API_KEY to the key'],
])(
  'the error of a key command that %s shows neither its arguments nor a key',
  async (_what, commandLine, message, hint) => {
    const error = { kind: 'auth', message: expect.stringMatching(message), hint };
    await expect(run(commandLine)).rejects.toMatchObject(error);
  },
);

test.each([
  ['pk_live_0123456789abcdef', 'set PETSTORE_API_KEY to the key'],
  ["sh -c 'exit 1 | false'", 'correct PETSTORE_API_KEY_COMMAND'],
])('the hint for the key command %j from the environment is to %s', async (line, hint) => {
  const command = { line, source: 'PETSTORE_API_KEY_COMMAND' };
  await expect(runKeyCommand(command, world([]))).rejects.toMatchObject({ hint });
});

// A key command that writes its process id and never ends.
function endless() {
  const file = join(tempDir(), 'pid');
  const line = script(`import fs from 'node:fs'; fs.writeFileSync(${JSON.stringify(file)}, String(process.pid));
    setInterval(() => {}, 1000);`);
  const isAlive = (): boolean => {
    try {
      const pid = Number(readFileSync(file));
      // An empty file reads as 0, which names the process group of this test.
      return pid > 0 && process.kill(pid, 0);
    } catch {
      return false;
    }
  };
  return { line, isAlive };
}

test('a key command is killed after its timeout and after Ctrl-C', async () => {
  const slow = endless();
  const message = expect.stringMatching(/^key command `\S*` failed \(timed out after 1s\)$/);
  await expect(runKeyCommand(saved(slow.line), world([]), 1000)).rejects.toMatchObject({ kind: 'auth', message });
  await until(() => !slow.isAlive());
  const interrupt = new AbortController();
  const { line, isAlive } = endless();
  const running = run(line, { signal: interrupt.signal });
  await until(isAlive);
  interrupt.abort(new Error('interrupted'));
  await expect(running).rejects.toThrow('interrupted');
  await until(() => !isAlive());
});
