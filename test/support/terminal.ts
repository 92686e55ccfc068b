// Runs a command in a pseudo-terminal, types text, and reports the state of the terminal afterwards; renders its screen.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants as files, openSync, write } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ReadStream } from 'node:tty';
import { open } from '@lydell/node-pty';
import xterm from '@xterm/headless';
import type { Outcome, Place } from './processes.ts';
import { ended } from './processes.ts';

// Opens a pseudo-terminal without a process; missing from the types of the package.
declare module '@lydell/node-pty' {
  export function open(size: object): { readonly master: ReadStream; readonly slave: ReadStream; ptsName: string };
}

/** An action after a text has appeared. */
export interface Step {
  readonly after: string;
  /** Text to type, for example `\r` or `\u0003` (Ctrl-C). */
  readonly send?: string;
  readonly signal?: NodeJS.Signals;
}

export interface TerminalOptions {
  /** Size in cells, by default 80x24; 0 if unknown. */
  readonly columns?: number;
  readonly rows?: number;
  readonly steps?: readonly Step[];
  /** True if stdout is a pipe instead of the terminal. */
  readonly stdoutPiped?: boolean;
}

/** `out` is the output in the pipe. */
export interface TerminalOutcome extends Outcome {
  /** All output on the terminal. */
  readonly screen: string;
  /** True if line mode, echo and signals of the terminal are on, as before the command. */
  readonly cooked: boolean;
}

// Delay before typing, since a terminal drops pending output at Ctrl-C.
const REACTION_MS = 20;
// Written to the terminal after the command has ended, to mark the end of its output.
const END = '\u0000the end\u0000';
// Closes the inherited end of node-pty, with which the command would keep its terminal open after a test has closed it.
const CLOSE_INHERITED = 'for fd in $(ls /dev/fd); do if [ "$fd" -gt 2 ]; then eval "exec $fd>&-"; fi; done; ';
// The first terminal that a session leader opens becomes its controlling terminal.
const ON_TERMINAL = `${CLOSE_INHERITED}exec "$@" <"$0" >"$0" 2>"$0"`;
const STDOUT_PIPED = `${CLOSE_INHERITED}exec "$@" <"$0" 2>"$0"`;

/**
 * Runs a command, and performs each step when its text appears after that of the previous step.
 * @throws Error if a text does not appear before the command ends
 */
export async function runInTerminal(
  command: readonly string[],
  at: Place,
  options: TerminalOptions = {},
): Promise<TerminalOutcome> {
  const { child, master, slave, shown, endOf } = startInTerminal(command, at, options);
  const left = [...(options.steps ?? [])];
  const performSteps = async (): Promise<void> => {
    for (let seen = 0; left[0]; left.shift()) {
      const { after, send, signal } = left[0];
      seen = await endOf(after, seen);
      await sleep(REACTION_MS);
      if (send) master.write(send);
      if (signal) child.kill(signal);
    }
  };
  void performSteps();
  const outcome = await ended(child);
  write(slave, END, () => undefined);
  const end = await endOf(END);
  const modes = stty(slave, '-a');
  master.destroy();
  closeSync(slave);
  const screen = shown().slice(0, end - END.length);
  if (left[0]) throw new Error(`${JSON.stringify(left[0].after)} did not appear on the terminal:\n${screen}`);
  return { ...outcome, screen, cooked: ['icanon', 'echo', 'isig'].every((mode) => modes.includes(mode)) };
}

/** Runs a command, and closes its terminal after a text has appeared. */
export async function closeTerminal(command: readonly string[], at: Place, after: string): Promise<Outcome> {
  const { child, master, slave, endOf } = startInTerminal(command, at);
  await endOf(after);
  closeSync(slave);
  master.destroy();
  return ended(child);
}

function startInTerminal(command: readonly string[], at: Place, options: TerminalOptions = {}) {
  const { columns = 80, rows = 24, stdoutPiped = false } = options;
  const { master, slave: reader, ptsName } = open({});
  // A separate descriptor keeps the terminal open, since the returned reader would consume the input.
  const slave = openSync(ptsName, files.O_RDWR | files.O_NOCTTY);
  reader.destroy();
  stty(slave, 'rows', String(rows), 'cols', String(columns));
  const child = spawn('bash', ['-c', stdoutPiped ? STDOUT_PIPED : ON_TERMINAL, ptsName, ...command], {
    env: { TERM: 'xterm-256color', ...at.env },
    cwd: at.dir,
    detached: true,
    stdio: ['ignore', stdoutPiped ? 'pipe' : 'ignore', 'inherit'],
    timeout: 100_000,
    killSignal: 'SIGKILL',
  });
  let screen = '';
  master.on('data', (text: string) => {
    screen += text;
  });
  // Waits until a text is on the screen after a position, and returns the position of its end.
  const endOf = async (text: string, from = 0): Promise<number> => {
    while (!screen.includes(text, from)) await once(master, 'data');
    return screen.indexOf(text, from) + text.length;
  };
  return { child, master, slave, shown: () => screen, endOf };
}

// Reads or sets the modes and size of the terminal.
function stty(slave: number, ...args: readonly string[]): string[] {
  return execFileSync('stty', args, { stdio: [slave, 'pipe', 'inherit'], encoding: 'utf8' }).split(/[\s;]+/);
}

// The control sequences that petstore and its packages may write to a terminal.
const KNOWN = /\u001b\[(?:[\d;]*m|\?(?:25|2004|2026)[hl]|\d*[ABCDGKJ])|[\r\n\b]/g;

/**
 * The screen of a terminal emulator (xterm) after some output.
 * @param columns width in cells
 * @returns the lines, including those that scrolled out, without trailing blanks
 * @throws Error if the output contains a control sequence that petstore does not write
 */
export async function picture(output: string, columns: number, rows: number): Promise<string[]> {
  const unknown = /[\u0000-\u001f].{0,8}/.exec(output.replace(KNOWN, ''));
  if (unknown) throw new Error(`unexpected control sequence ${JSON.stringify(unknown[0])} on a terminal`);
  const terminal = new xterm.Terminal({ cols: columns, rows, scrollback: 10_000, allowProposedApi: true });
  await new Promise<void>((written) => terminal.write(output, written));
  const { active } = terminal.buffer;
  return Array.from({ length: active.length }, (_, row) => active.getLine(row)?.translateToString(true) ?? '');
}
