// Runs the program that this test run built, also in a pseudo-terminal, and saves a profile for it.
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inject } from 'vitest';
import { openConfStore } from '../../src/cli/profiles/conf-store.ts';
import type { Outcome, Place } from './processes.ts';
import { ended, place, runProgram, startProgram } from './processes.ts';
import type { Step, TerminalOptions, TerminalOutcome } from './terminal.ts';
import { runInTerminal } from './terminal.ts';

export const BIN = inject('bin');

/** The key of saved profiles. */
export const KEY = 'sk_secret_0123456789abcdef';

/** Creates a place whose active profile, `production`, has this URL, and `KEY` or a command that prints a key. */
export function savedPlace(url: string, env: Record<string, string> = {}, keyCommand?: string): Place {
  const at = place(env);
  const secret = keyCommand === undefined ? { key: KEY } : { keyCommand };
  openConfStore(join(at.dir, 'config')).save('production', { url, origin: new URL(url).origin, ...secret });
  return at;
}

/** Starts the program; `bin` may be another copy of it. */
export const start = (at: Place, args: readonly string[], bin = BIN): ChildProcess => startProgram(bin, at, args);

/** Runs the program to its end; `bin` may be another copy of it. */
export const petstore = (at: Place, args: readonly string[], stdin: string | Uint8Array = '', bin = BIN) =>
  runProgram(bin, at, args, stdin);

/** Runs a bash script in which `"$@"` is a command of the program. */
export function inScript(at: Place, script: string, args: readonly string[]): Promise<Outcome> {
  return ended(spawn('bash', ['-c', script, 'bash', process.execPath, BIN, ...args], { env: at.env, cwd: at.dir }));
}

export function inTerminal(
  at: Place,
  args: readonly string[],
  options: TerminalOptions = {},
): Promise<TerminalOutcome> {
  return runInTerminal([process.execPath, BIN, ...args], at, options);
}

/** Runs a shell with job control, the prompt `shell> ` and the function `petstore`; the steps type commands. */
export function inShell(at: Place, steps: readonly Step[]): Promise<TerminalOutcome> {
  const petstore = `petstore() { '${process.execPath}' '${BIN}' "$@"; }`;
  writeFileSync(join(at.dir, 'bashrc'), `PS1='shell> '\n${petstore}\n`);
  return runInTerminal(['bash', '--rcfile', join(at.dir, 'bashrc'), '-i'], at, { steps });
}
