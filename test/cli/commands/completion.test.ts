// Completion: the candidates at each position of a command line, and the scripts in real shells.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { expect, test } from 'vitest';
import { suggest } from '../../../src/cli/commands/completion.ts';
import { createProgram } from '../../../src/cli/program.ts';
import { FORMATS } from '../../../src/cli/reference.ts';
import { hasPty, needs } from '../../support/capabilities.ts';
import { place } from '../../support/processes.ts';
import { BIN } from '../../support/program.ts';
import { runInTerminal } from '../../support/terminal.ts';
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
  // bash splits `--format=nd` into three words.
  ['categories list --format = nd', ['ndjson']],
  ['categories list --format =', FORMATS],
  ['categories ls --sort ', ['id', 'name']],
  ['categories import ', [':files']],
  ['api POST x --input ', [':files']],
  ['auth login s', ['staging', 'sandbox']],
  ['api GET ', []],
  ['categories create --name ', []],
  ['help auth ', ['login', 'logout', 'status', 'list', 'switch']],
  ['help foo ', []],
  ['completion ', ['bash', 'zsh', 'fish', 'powershell']],
  ['unknown ', []],
  ['unknown categories ', []],
  ['categories list --', ['--format', '--columns', '--search', '--sort', ...GLOBAL_OPTIONS, '--help']],
  ['categories list -- ', []],
])('Tab after `petstore %s` offers %j', async (line, offered) => {
  const candidates = await suggest(root, line.split(' '), async () => PROFILES);
  expect(candidates.map((one) => one.replace(/\t.*/, ''))).toEqual(offered);
});

test('completion of a command reads no profiles', async () => {
  expect(await suggest(root, ['categories', 'g'], () => expect.unreachable())).toHaveLength(1);
});

/** For each shell, the command line that starts it interactively, with the prompt `shell> ` and the completion script. */
const SHELLS: Readonly<Record<string, readonly string[]>> = {
  bash: ['bash', '--noprofile', '--rcfile', 'start-bash', '-i'],
  zsh: ['zsh', '-d', '-i'],
  fish: ['fish', '--no-config', '--init-command', 'source start-fish'],
};
const START = {
  'start-bash': `PS1='shell> '\neval "$(cat script)"\n`,
  '.zshrc': `PS1='shell> '\nautoload -Uz compinit; compinit -u -D; source ./script\n`,
  'start-fish': `function fish_prompt; echo -n 'shell> '; end\nsource script\n`,
};

/** For each text before Tab, its only completion. */
const LINES = {
  'auth sw': 'auth switch',
  'auth switch stag': 'auth switch staging',
  'categories list --format=nd': 'categories list --format=ndjson',
  'auth status --profile=stag': 'auth status --profile=staging',
  'categories import ani': 'categories import animals.csv',
  'api categories --input=ani': 'api categories --input=animals.csv',
  'sandbox --fault lost': 'sandbox --fault lost-response',
};

/** Types each line and Tab in a shell in which `petstore` prints its arguments; returns the screen. */
async function typeInShell(shell: string, lines: readonly string[]): Promise<string> {
  const { dir, env } = place();
  const program = `[ "$1" = __complete ] && exec '${process.execPath}' '${BIN}' "$@"\necho "ran: $*."\n`;
  writeFileSync(join(dir, 'petstore'), `#!/bin/sh\n${program}`, { mode: 0o755 });
  writeFileSync(join(dir, 'script'), (await inProcess(['completion', shell])).out);
  writeFileSync(join(dir, 'animals.csv'), '');
  for (const [name, text] of Object.entries(START)) writeFileSync(join(dir, name), text);
  const steps = lines.flatMap((line) => [{ after: 'shell> ', send: `petstore ${line}\t\r` }, { after: 'ran: ' }]);
  const at = { dir, env: { ...env, ZDOTDIR: dir, HOME: dir, PATH: `${dir}:${env['PATH']}` } };
  const exit = { after: 'shell> ', send: 'exit\r' };
  const { screen } = await runInTerminal(SHELLS[shell] ?? [], at, { columns: 200, steps: [...steps, exit] });
  return stripVTControlCharacters(screen);
}

for (const shell of Object.keys(SHELLS)) {
  const define = shell === 'bash' ? test.runIf(hasPty) : needs(shell as 'zsh' | 'fish');
  define(`Tab completes commands, profiles, values and files in ${shell}`, async () => {
    const screen = await typeInShell(shell, Object.keys(LINES));
    const ran = [...screen.matchAll(/^ran: (.*)\.\r$/gm)].map(([, words]) => words?.trimEnd());
    expect(ran).toEqual(Object.values(LINES));
  });
}

needs('zsh')('Tab in zsh lists values alone, and commands with their descriptions', async () => {
  const screen = await typeInShell('zsh', ['categories list --format ', 'auth s']);
  expect(screen).toMatch(/^csv +json +ndjson +table +tsv/m);
  expect(screen).toMatch(/^switch +-- set the active profile/m);
});

test('the PowerShell script registers a completer, and `__complete --at-blank` completes an empty last word', async () => {
  const { out } = await inProcess(['completion', 'powershell']);
  expect(out).toMatch(/^Register-ArgumentCompleter -Native -CommandName petstore/m);
  // npm's shim for PowerShell drops an unquoted `--`.
  expect(out).toContain("& petstore __complete @flags '--' @words");
  const offered = await inProcess(['__complete', '--at-blank', '--', 'auth', 'switch']);
  expect(offered).toMatchObject({ code: 0, out: expect.stringMatching(/^staging\t/m) });
});
