// Completion: the candidates at each position of a command line, and the scripts in real shells.
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { suggest } from '../../../src/cli/commands/completion.ts';
import { createProgram } from '../../../src/cli/program.ts';
import { FORMATS } from '../../../src/cli/reference.ts';
import { hasShell, needs } from '../../support/capabilities.ts';
import { place } from '../../support/processes.ts';
import { BIN } from '../../support/program.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { inProcess, world } from '../../support/world.ts';

const root = createProgram(world([]));
const GLOBAL_OPTIONS = '--profile --json --max-wait --max-retries --timeout --quiet --verbose --no-color'.split(' ');
const PROFILES = ['production', 'staging', 'sandbox', 'my-own'];

test.each([
  ['', ['categories', 'auth', 'quota', 'doctor', 'sandbox', 'completion', 'api', 'help']],
  ['cat', ['categories']],
  ['--format json categories l', ['list', 'ls']],
  ['-qv -pstaging categories cr', ['create']],
  ['help e', ['exit-codes', 'environment']],
  ['categories list --format=nd', ['--format=ndjson']],
  ['--profile=s', ['--profile=staging', '--profile=sandbox']],
  ['api categories --input=', [':files']],
  ['categories list --sort foo --se', ['--search']],
  ['sandbox --fault l', ['latency', 'lost-response']],
  ['-p ', PROFILES],
  ['categories list --format ', FORMATS],
  ['categories list --format = nd', ['ndjson']],
  ['categories ls --sort ', ['id', 'name']],
  ['categories import ', [':files']],
  ['api POST x --input ', [':files']],
  ['auth login s', ['staging', 'sandbox']],
  ['api GET ', []],
  ['categories create --name ', []],
  ['help auth s', ['status', 'switch']],
  ['completion ', ['bash', 'zsh', 'fish', 'powershell']],
  ['unknown ', []],
  ['categories list --', ['--format', '--search', '--sort', ...GLOBAL_OPTIONS, '--help']],
  ['categories list -- ', []],
])('petstore %s<Tab> offers %j', async (line, offered) => {
  const candidates = await suggest(root, line.split(' '), async () => PROFILES);
  expect(candidates.map((one) => one.replace(/\t.*/, ''))).toEqual(offered);
});

test('completion reads profiles only to complete a profile', async () => {
  expect(await suggest(root, ['categories', 'g'], () => expect.unreachable())).toHaveLength(1);
});

/** The flags of each shell, and a function `tab` that prints the candidates for its arguments; `ls` stands for files. */
const SHELLS: Readonly<Record<string, readonly [flags: string, tab: string]>> = {
  bash: [
    '--norc',
    `eval "$(cat script)"; complete -p petstore | grep -q 'o default' || exit 1
    compopt() { otherwise=false; }
    tab() { COMP_WORDS=(petstore "$@"); COMP_CWORD=$#; otherwise=ls; _petstore
      [[ $COMPREPLY ]] && printf '%s\\n' "\${COMPREPLY[@]}" || $otherwise; }`,
  ],
  zsh: [
    '-f',
    `autoload -Uz compinit; compinit -u -D; source ./script; [[ $_comps[petstore] == _petstore ]] || exit 1
    _describe() { local -a all=("\${(@P)4}"); print -l -- "\${(@)all%%:*}" }; _files() { ls }
    tab() { words=(petstore "$@"); CURRENT=$(( $# + 1 )); _petstore }`,
  ],
  fish: ['--no-config', 'source script; function tab; complete -C "petstore $argv"; end'],
};

// A space at the end begins an empty word.
const LINES = {
  'auth s': 'status switch',
  'auth switch ': 'production sandbox staging',
  'categories import ': 'animals.csv script',
  'categories create --name ': '',
};

for (const [shell, [flags, tab]] of Object.entries(SHELLS)) {
  const define = shell === 'bash' ? test.runIf(hasShell) : needs(shell as 'zsh' | 'fish');
  define(`${shell} completes commands, profiles and files where they belong`, async () => {
    const { dir, env } = place();
    const bin = tempDir();
    writeFileSync(join(bin, 'petstore'), `#!/bin/sh\nexec '${process.execPath}' '${BIN}' "$@"\n`, { mode: 0o755 });
    writeFileSync(join(dir, 'script'), (await inProcess(['completion', shell])).out);
    writeFileSync(join(dir, 'animals.csv'), '');
    const calls = Object.keys(LINES).map((line) => `tab ${line.replace(/ $/, " ''")}; echo +`);
    const { stdout } = await promisify(execFile)(shell, [flags, '-c', [tab, ...calls].join('\n')], {
      env: { ...env, PATH: `${bin}:${env['PATH']}` },
      cwd: dir,
    });
    const answers = stdout.replace(/\t.*/g, '').split('+\n').slice(0, -1);
    expect(answers.map((text) => text.trim().split('\n').sort().join(' '))).toEqual(Object.values(LINES));
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
