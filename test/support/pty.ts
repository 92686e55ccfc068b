// Runs the built program in a real pseudo-terminal, through Python, whose standard library has one.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import type { Place } from './program.ts';
import { BIN, ended } from './program.ts';

/** What to do once a text has appeared. */
export interface Step {
  readonly after: string;
  /** Typed, for example `\r` or `\u0003` (Ctrl-C). */
  readonly send?: string;
  /** Sent to the program. */
  readonly signal?: 'SIGINT' | 'SIGTERM' | 'SIGHUP';
}

/** How a run in a terminal ended. */
export interface TerminalOutcome {
  /** The exit code; -N after signal N; `timeout` or `flood` where it had to be killed. */
  readonly code: number | string;
  /** Everything that reached the terminal. */
  readonly screen: string;
  /** What went to stdout, where that was a pipe. */
  readonly stdout: string;
  /** Whether the terminal was left as it was found: line mode, echo, signals. */
  readonly cooked: boolean;
  /** Steps whose text never appeared. */
  readonly stepsLeft: number;
  /** From the last step to the end, in milliseconds. */
  readonly msSinceLastStep: number;
}

/**
 * @param at whose folders and environment
 * @param args the arguments
 * @param options the size in cells (80x24), what to type when, whether stdout is a pipe
 * @returns how it ended
 */
export async function inTerminal(
  at: Place,
  args: readonly string[],
  options: {
    readonly columns?: number;
    readonly rows?: number;
    readonly steps?: readonly Step[];
    readonly stdoutPiped?: boolean;
    readonly env?: Record<string, string>;
  } = {},
): Promise<TerminalOutcome> {
  const spec = {
    command: [process.execPath, BIN, ...args],
    env: { TERM: 'xterm-256color', ...at.env, ...options.env },
    cwd: at.dir,
    columns: options.columns ?? 80,
    rows: options.rows ?? 24,
    steps: options.steps ?? [],
    stdoutPiped: options.stdoutPiped ?? false,
    seconds: 20,
  };
  const helper = await ended(spawn('python3', [join(import.meta.dirname, 'pty.py'), JSON.stringify(spec)]));
  if (helper.code !== 0) throw new Error(`the terminal helper failed: ${helper.err}`);
  const said = JSON.parse(helper.out) as TerminalOutcome;
  const text = (base64: string): string => Buffer.from(base64, 'base64').toString();
  return { ...said, screen: text(said.screen), stdout: text(said.stdout) };
}
