// Runs a command in a pseudo-terminal, types text, and reports the state of the terminal afterwards; pictures its screen.
import type { ChildProcess } from 'node:child_process';
import { execFileSync, spawn } from 'node:child_process';
import { closeSync, constants as files, openSync, write } from 'node:fs';
import type { ReadStream } from 'node:tty';
import { open } from '@lydell/node-pty';
import xterm from '@xterm/headless';
import type { Outcome, Place } from './processes.ts';
import { ended } from './processes.ts';

// Opens a pseudo-terminal without a process; missing in the types of the package.
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
  readonly timeoutMs?: number;
}

export interface TerminalOutcome {
  /** As a shell reports it: 128 + N after signal N. */
  readonly code: number;
  /** The signal that ended the command, SIGKILL after the timeout. */
  readonly signal: NodeJS.Signals | undefined;
  /** All output on the terminal. */
  readonly screen: string;
  /** The output on stdout if it is a pipe. */
  readonly stdout: string;
  /** True if line mode, echo and signals of the terminal are on, as before. */
  readonly cooked: boolean;
  /** The number of steps whose text did not appear. */
  readonly stepsLeft: number;
}

// Delay before typing, since a terminal drops pending output at Ctrl-C.
const REACTION_MS = 20;
// Written to the terminal after the command has ended, to mark the end of its output.
const END = '\u0000the end\u0000';
// node-pty's end of the terminal is inherited; a terminal that a process keeps open for itself cannot be closed.
const CLOSE_INHERITED = 'for fd in $(ls /dev/fd); do if [ "$fd" -gt 2 ]; then eval "exec $fd>&-"; fi; done; ';
// The first terminal that a session leader opens becomes its controlling terminal.
const ON_TERMINAL = `${CLOSE_INHERITED}exec "$@" <"$0" >"$0" 2>"$0"`;
const STDOUT_PIPED = `${CLOSE_INHERITED}exec "$@" <"$0" 2>"$0"`;

/** Runs a command, and performs each step when its text appears after that of the previous step. */
export async function runInTerminal(
  command: readonly string[],
  at: Place,
  options: TerminalOptions = {},
): Promise<TerminalOutcome> {
  const { columns = 80, rows = 24, steps = [], stdoutPiped = false, timeoutMs = 20_000 } = options;
  const { master, slave, name } = openTerminal(columns, rows);
  const child = startOn(name, command, at, stdoutPiped);
  const left = [...steps];
  let screen = '';
  let seen = 0;
  let isTyping = false;
  const typeNext = (): void => {
    const [step] = left;
    if (isTyping || !step || !screen.includes(step.after, seen)) return;
    isTyping = true;
    setTimeout(() => {
      left.shift();
      seen = screen.indexOf(step.after, seen) + step.after.length;
      if (step.send) master.write(step.send);
      if (step.signal) child.kill(step.signal);
      isTyping = false;
      typeNext();
    }, REACTION_MS);
  };
  const seenAll = new Promise<void>((resolve) => {
    master.on('data', (text: string) => {
      screen += text;
      if (screen.includes(END, screen.length - text.length - END.length)) resolve();
      typeNext();
    });
  });
  const timer = setTimeout(() => child.kill('SIGKILL'), timeoutMs);
  const { code, signal, out } = await ended(child);
  clearTimeout(timer);
  write(slave, END, () => undefined);
  await seenAll;
  const modes = stty(slave, '-a');
  master.destroy();
  closeSync(slave);
  return {
    code,
    signal,
    screen: screen.slice(0, screen.lastIndexOf(END)),
    stdout: out,
    cooked: ['icanon', 'echo', 'isig'].every((mode) => modes.includes(mode)),
    stepsLeft: left.length,
  };
}

/** Closes the terminal after a text has appeared. */
export async function closeTerminal(command: readonly string[], at: Place, after: string): Promise<Outcome> {
  const { master, slave, name } = openTerminal(80, 24);
  const child = startOn(name, command, at);
  let screen = '';
  await new Promise<void>((found) =>
    master.on('data', (text: string) => {
      screen += text;
      if (screen.includes(after)) found();
    }),
  );
  closeSync(slave);
  master.destroy();
  return ended(child);
}

function startOn(terminal: string, command: readonly string[], at: Place, stdoutPiped = false): ChildProcess {
  return spawn('bash', ['-c', stdoutPiped ? STDOUT_PIPED : ON_TERMINAL, terminal, ...command], {
    env: { TERM: 'xterm-256color', ...at.env },
    cwd: at.dir,
    detached: true,
    stdio: ['ignore', stdoutPiped ? 'pipe' : 'ignore', 'inherit'],
  });
}

function openTerminal(columns: number, rows: number) {
  const { master, slave: reader, ptsName: name } = open({});
  // A separate descriptor keeps the terminal open, since the returned reader would consume the input.
  const slave = openSync(name, files.O_RDWR | files.O_NOCTTY);
  reader.destroy();
  stty(slave, 'rows', String(rows), 'cols', String(columns));
  return { master, slave, name };
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
 * @returns the lines with those that scrolled out, without trailing blanks
 */
export async function picture(output: string, columns: number, rows: number): Promise<string[]> {
  const unknown = /[\u0000-\u001f].{0,8}/.exec(output.replace(KNOWN, ''));
  if (unknown) throw new Error(`unexpected control sequence ${JSON.stringify(unknown[0])} on a terminal`);
  const terminal = new xterm.Terminal({ cols: columns, rows, scrollback: 10_000, allowProposedApi: true });
  await new Promise<void>((written) => terminal.write(output, written));
  const { active } = terminal.buffer;
  return Array.from({ length: active.length }, (_, row) => active.getLine(row)?.translateToString(true) ?? '');
}
