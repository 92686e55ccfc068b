// The completion scripts in real shells.
import { execFile, execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import type { Place } from '../support/processes.ts';
import { place } from '../support/processes.ts';
import { BIN, petstore } from '../support/program.ts';

const execute = promisify(execFile);

function has(shell: string): boolean {
  try {
    execFileSync(shell, ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

// A place with `petstore` in its PATH and the completion script in a file.
async function prepared(shell: string): Promise<Place & { script: string }> {
  const at = place();
  const bin = join(at.dir, 'bin');
  mkdirSync(bin);
  writeFileSync(join(bin, 'petstore'), `#!/bin/sh\nexec '${process.execPath}' '${BIN}' "$@"\n`);
  chmodSync(join(bin, 'petstore'), 0o755);
  const { code, out, err } = await petstore(at, ['completion', shell]);
  expect({ code, err }).toEqual({ code: 0, err: '' });
  const script = join(at.dir, 'script');
  writeFileSync(script, out);
  writeFileSync(join(at.dir, 'a pet file.csv'), '');
  return { dir: at.dir, env: { ...at.env, PATH: `${bin}:${at.env['PATH']}` }, script };
}

async function candidates(at: Place, shell: string, args: readonly string[]): Promise<string[]> {
  const { stdout } = await execute(shell, [...args], { env: at.env, cwd: at.dir });
  return stdout.split('\n').filter(Boolean);
}

/** The words of a command line and the expected candidates. */
const LINES: readonly (readonly [words: readonly string[], offered: readonly string[]])[] = [
  [
    ['auth', 's'],
    ['status', 'switch'],
  ],
  [['categories', 'list', '--format', 'nd'], ['ndjson']],
  [['-p', 'st'], ['staging']],
  [
    ['auth', 'switch', ''],
    ['production', 'staging', 'sandbox'],
  ],
];

const testIn = (shell: string, run: () => Promise<void>): void =>
  test.runIf(has(shell))(`${shell} completes commands, options, values, profiles and files`, run);

testIn('bash', async () => {
  const at = await prepared('bash');
  const tab = (words: readonly string[]): Promise<string[]> => {
    const quoted = ['petstore', ...words].map((word) => `'${word}'`).join(' ');
    const script = `eval "$(petstore completion bash)"; COMP_WORDS=(${quoted}); COMP_CWORD=${words.length}; _petstore; printf '%s\\n' "\${COMPREPLY[@]}"`;
    return candidates(at, 'bash', ['--norc', '-c', script]);
  };
  for (const [words, offered] of LINES) expect(await tab(words)).toEqual(offered);
  // bash splits --format=nd at the =.
  expect(await tab(['categories', 'list', '--format', '=', 'nd'])).toEqual(['ndjson']);
  expect(await tab(['categories', 'list', '--format', '='])).toContain('csv');
  expect(await tab(['categories', 'import', 'a'])).toEqual(['a pet file.csv']);
});

testIn('zsh', async () => {
  const at = await prepared('zsh');
  const load = `autoload -Uz compinit; compinit -u -D; source '${at.script}'`;
  expect(await candidates(at, 'zsh', ['-f', '-c', `${load}; print -- $_comps[petstore]`])).toEqual(['_petstore']);
  // Prints the arguments of zsh's own _describe and _files.
  const spy = `_describe() { local -a all=("\${(@P)4}"); print -l -- "\${(@)all%%:*}" }; _files() { print -- :files }`;
  const tab = (words: readonly string[]): Promise<string[]> => {
    const quoted = ['petstore', ...words].map((word) => `'${word}'`).join(' ');
    return candidates(at, 'zsh', [
      '-f',
      '-c',
      `${load}; ${spy}; words=(${quoted}); CURRENT=${words.length + 1}; _petstore`,
    ]);
  };
  for (const [words, offered] of LINES) expect(await tab(words)).toEqual(offered);
  expect(await tab(['categories', 'import', ''])).toEqual([':files']);
});

testIn('fish', async () => {
  const at = await prepared('fish');
  const tab = async (line: string): Promise<string[]> => {
    const lines = await candidates(at, 'fish', ['--no-config', '-c', `source '${at.script}'; complete -C '${line}'`]);
    return lines.map((one) => one.split('\t')[0] ?? '');
  };
  for (const [words, offered] of LINES) {
    expect((await tab(['petstore', ...words].join(' '))).sort()).toEqual([...offered].sort());
  }
  expect(await tab('petstore categories import a')).toEqual([expect.stringContaining('pet')]);
});

test('the PowerShell script registers itself and completes after an empty last word', async () => {
  const script = (await petstore(place(), ['completion', 'powershell'])).out;
  expect(script).toMatch(/^Register-ArgumentCompleter -Native -CommandName petstore/m);
  // npm's shim for PowerShell drops a bare --.
  expect(script).toContain("& petstore __complete @flags '--' @words");
  const at = place();
  const { code, out } = await petstore(at, ['__complete', '--at-blank', '--', 'auth', 'switch']);
  expect(code).toBe(0);
  expect(out.split('\n').map((line) => line.split('\t')[0])).toContain('staging');
});

test('completion succeeds with an empty stderr even if the config directory is a file', async () => {
  const at = place();
  writeFileSync(join(at.dir, 'config'), 'not a directory');
  const { code, out, err } = await petstore(at, ['__complete', '--', '-p', '']);
  expect({ code, err }).toEqual({ code: 0, err: '' });
  expect(out).toContain('production');
});
