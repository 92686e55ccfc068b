// Completion: the candidates at each position of a command line, and the scripts in real shells.
import { execFile, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { suggest } from '../../src/commands/completion.ts';
import { FORMATS } from '../../src/output/render.ts';
import { createProgram } from '../../src/program.ts';
import type { Place } from '../support/processes.ts';
import { place } from '../support/processes.ts';
import { BIN, petstore } from '../support/program.ts';
import { inProcess, world } from '../support/world.ts';

const root = createProgram(world([]));
const PROFILES = ['production', 'staging', 'sandbox', 'my-own'];

async function offeredFor(line: string): Promise<string[]> {
  return (await suggest(root, line.split(' '), async () => PROFILES)).map(({ value }) => value);
}

test.each([
  ['cat', ['categories']],
  ['-p staging categories c', ['create']],
  ['--profile=staging categories c', ['create']],
  ['auth s', ['status', 'switch']],
  ['auth switch ', PROFILES],
  ['-p ', PROFILES],
  ['categories list --profile m', ['my-own']],
  ['categories list --format ', FORMATS],
  ['categories list --format = nd', ['ndjson']],
  ['categories ls --sort ', ['id', 'name']],
  ['categories import ', []],
  ['categories create --name ', []],
  ['completion ', ['bash', 'zsh', 'fish', 'powershell']],
  ['categories l', ['list', 'ls']],
  ['help cat', ['categories']],
  ['help auth s', ['status', 'switch']],
  ['unknown ', []],
  ['categories list -- ', []],
  ['categories list extra ', []],
])('petstore %s<Tab> offers %j', async (line, offered) => {
  expect(await offeredFor(line)).toEqual(offered);
});

test('completion offers visible commands but not hidden ones', async () => {
  const offered = await offeredFor('');
  expect(offered).toEqual(expect.arrayContaining(['categories', 'auth', 'quota', 'api', 'sandbox', 'doctor', 'help']));
  expect(offered).not.toContain('__complete');
});

test('completion offers the options of the command and the global options', async () => {
  const offered = await offeredFor('categories list --');
  expect(offered).toEqual(expect.arrayContaining(['--sort', '--format', '--json', '--profile', '--help']));
  expect(offered).not.toContain('--name');
});

test('completion reads profiles only to complete a profile', async () => {
  const never = (): Promise<readonly string[]> => Promise.reject(new Error('read'));
  await expect(suggest(root, ['categories', ''], never)).resolves.toBeDefined();
});

// A place with `petstore` in its PATH, and the completion script in a file.
async function prepared(shell: string): Promise<Place & { script: string }> {
  const at = place();
  const bin = join(at.dir, 'bin');
  mkdirSync(bin);
  writeFileSync(join(bin, 'petstore'), `#!/bin/sh\nexec '${process.execPath}' '${BIN}' "$@"\n`);
  chmodSync(join(bin, 'petstore'), 0o755);
  const script = join(at.dir, 'script');
  writeFileSync(script, (await inProcess(['completion', shell])).out);
  writeFileSync(join(at.dir, 'a pet file.csv'), '');
  return { dir: at.dir, env: { ...at.env, PATH: `${bin}:${at.env['PATH']}` }, script };
}

/** For each shell, the arguments with which it prints the candidates for words; zsh's own functions are replaced. */
const SHELLS: Readonly<Record<string, (script: string, words: readonly string[], quoted: string) => string[]>> = {
  bash: (_script, words, quoted) => [
    '--norc',
    '-c',
    `eval "$(petstore completion bash)"; COMP_WORDS=(${quoted}); COMP_CWORD=${words.length}; _petstore
    if [[ $COMPREPLY ]]; then printf '%s\\n' "\${COMPREPLY[@]}"; elif complete -p petstore | grep -q 'o default'; then ls; fi`,
  ],
  zsh: (script, words, quoted) => [
    '-f',
    '-c',
    `autoload -Uz compinit; compinit -u -D; source '${script}'; [[ $_comps[petstore] == _petstore ]] || exit 1
    _describe() { local -a all=("\${(@P)4}"); print -l -- "\${(@)all%%:*}" }; _files() { ls }
    words=(${quoted}); CURRENT=${words.length + 1}; _petstore`,
  ],
  fish: (script, words) => [
    '--no-config',
    '-c',
    `source '${script}'; complete -C '${['petstore', ...words].join(' ')}'`,
  ],
};

for (const [shell, argumentsFor] of Object.entries(SHELLS)) {
  const hasShell = spawnSync(shell, ['--version']).status === 0;
  test.runIf(hasShell)(`${shell} completes commands, options, values and profiles, and otherwise files`, async () => {
    const { script, env, dir } = await prepared(shell);
    const tab = async (...words: readonly string[]): Promise<string[]> => {
      const quoted = ['petstore', ...words].map((word) => `'${word}'`).join(' ');
      const { stdout } = await promisify(execFile)(shell, argumentsFor(script, words, quoted), { env, cwd: dir });
      return stdout.replace(/\t.*/g, '').split('\n').filter(Boolean).sort();
    };
    expect(await tab('auth', 's')).toEqual(['status', 'switch']);
    expect(await tab('categories', 'list', '--format', 'nd')).toEqual(['ndjson']);
    expect(await tab('-p', 'st')).toEqual(['staging']);
    expect(await tab('auth', 'switch', '')).toEqual(['production', 'sandbox', 'staging']);
    expect((await tab('categories', 'import', '')).join()).toMatch(/a\\? pet\\? file\.csv/);
    // bash splits --format=nd at the =.
    if (shell === 'bash') expect(await tab('categories', 'list', '--format', '=', 'nd')).toEqual(['ndjson']);
  });
}

test('the PowerShell script registers itself and completes after an empty last word', async () => {
  const { out } = await inProcess(['completion', 'powershell']);
  expect(out).toMatch(/^Register-ArgumentCompleter -Native -CommandName petstore/m);
  // npm's shim for PowerShell drops a bare --.
  expect(out).toContain("& petstore __complete @flags '--' @words");
  const offered = await inProcess(['__complete', '--at-blank', '--', 'auth', 'switch']);
  expect(offered).toMatchObject({ code: 0, out: expect.stringMatching(/^staging\t/m) });
});

test('completion succeeds with an empty stderr even if the config directory is a file', async () => {
  const at = place();
  writeFileSync(join(at.dir, 'config'), 'not a directory');
  const { code, out, err } = await petstore(at, ['__complete', '--', '-p', '']);
  expect({ code, err }).toEqual({ code: 0, err: '' });
  expect(out).toContain('production');
});
