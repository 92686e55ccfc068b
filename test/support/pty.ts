// Runs the built program, or a shell with it, in a pseudo-terminal.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Place } from './processes.ts';
import { BIN } from './program.ts';
import type { Step, TerminalOptions, TerminalOutcome } from './terminal.ts';
import { runInTerminal } from './terminal.ts';

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
