// Runs the built program, or a shell with it, in a pseudo-terminal.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Place } from './processes.ts';
import { BIN } from './program.ts';
import type { Step, TerminalOutcome } from './terminal.ts';
import { runInTerminal } from './terminal.ts';

/**
 * @param at whose folders and environment
 * @param args the arguments
 * @param options the size in cells (80x24), what to type when, whether stdout is a pipe
 * @returns how it ended
 */
export async function inTerminal(at: Place, args: readonly string[], options: Options = {}): Promise<TerminalOutcome> {
  return await commandInTerminal(at, [process.execPath, BIN, ...args], options);
}

/**
 * Runs a shell that knows jobs, in which the steps type commands; `petstore` is the built program.
 * @param at whose folders and environment
 * @param steps what to type when; the shell's prompt is `shell> `
 * @returns how it ended
 */
export async function inShell(at: Place, steps: readonly Step[]): Promise<TerminalOutcome> {
  // Writes its process id to a file, for tests that send it a signal.
  const petstore = `petstore() { ( echo $BASHPID > pid; exec '${process.execPath}' '${BIN}' "$@" ); }`;
  writeFileSync(join(at.dir, 'bashrc'), `PS1='shell> '\n${petstore}\n`);
  return await commandInTerminal(at, ['bash', '--rcfile', join(at.dir, 'bashrc'), '-i'], { steps });
}

interface Options {
  readonly columns?: number;
  readonly rows?: number;
  readonly steps?: readonly Step[];
  readonly stdoutPiped?: boolean;
  readonly env?: Record<string, string>;
}

async function commandInTerminal(at: Place, command: readonly string[], options: Options): Promise<TerminalOutcome> {
  return await runInTerminal({
    command,
    env: { TERM: 'xterm-256color', ...at.env, ...options.env },
    cwd: at.dir,
    columns: options.columns ?? 80,
    rows: options.rows ?? 24,
    steps: options.steps ?? [],
    stdoutPiped: options.stdoutPiped ?? false,
    timeoutMs: 20_000,
  });
}
