// Runs the program that this test run built, also in a pseudo-terminal.
import type { ChildProcess } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inject } from 'vitest';
import type { Outcome, Place } from './processes.ts';
import { runProgram, startProgram } from './processes.ts';
import type { Step, TerminalOptions, TerminalOutcome } from './terminal.ts';
import { runInTerminal } from './terminal.ts';

export const BIN = inject('bin');

export function start(at: Place, args: readonly string[]): ChildProcess {
  return startProgram(BIN, at, args);
}

export function petstore(at: Place, args: readonly string[], stdin: string | Uint8Array = ''): Promise<Outcome> {
  return runProgram(BIN, at, args, stdin);
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
