// Runs the built program in a real pseudo-terminal, where a user would see and type.
import type { Place } from './program.ts';
import { BIN } from './program.ts';
import type { Step, TerminalOutcome } from './terminal.ts';
import { runInTerminal } from './terminal.ts';

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
  return await runInTerminal({
    command: [process.execPath, BIN, ...args],
    env: { TERM: 'xterm-256color', ...at.env, ...options.env },
    cwd: at.dir,
    columns: options.columns ?? 80,
    rows: options.rows ?? 24,
    steps: options.steps ?? [],
    stdoutPiped: options.stdoutPiped ?? false,
    timeoutMs: 20_000,
  });
}
