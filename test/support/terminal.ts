// Runs a command in a pseudo-terminal, types text, and reports the state of the terminal afterwards; pictures its screen.
import type { ChildProcess } from 'node:child_process';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants as files, openSync, write } from 'node:fs';
import { constants } from 'node:os';
import type { ReadStream } from 'node:tty';
import { open } from '@lydell/node-pty';
import xterm from '@xterm/headless';
import type { Place } from './processes.ts';

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
  readonly act?: () => void;
}

export interface TerminalOptions {
  /** Size in cells, by default 80x24; 0 if unknown. */
  readonly columns?: number;
  readonly rows?: number;
  readonly steps?: readonly Step[];
  /** True if stdout is a pipe instead of the terminal. */
  readonly stdoutPiped?: boolean;
  readonly env?: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
}

export interface TerminalOutcome {
  /** As a shell reports it: 128 + N after signal N; or the reason for killing the command: `timeout` or `flood`. */
  readonly code: number | string;
  /** The signal that ended the command. */
  readonly signal: NodeJS.Signals | null;
  /** All output on the terminal. */
  readonly screen: string;
  /** The output on stdout if it is a pipe. */
  readonly stdout: string;
  /** True if line mode, echo and signals of the terminal are on, as before. */
  readonly cooked: boolean;
  /** The number of steps whose text did not appear. */
  readonly stepsLeft: number;
}

// More characters than any command prints.
const FLOOD = 5_000_000;
// Delay before typing, since a terminal drops pending output at Ctrl-C.
const REACTION_MS = 20;
// Written to the terminal after the command has ended, to mark the end of its output.
const END = '\u0000the end\u0000';
// node-pty's end of the terminal is inherited; a terminal that a process keeps open for itself cannot be closed.
const CLOSE_INHERITED = 'for fd in $(ls /dev/fd); do if [ "$fd" -gt 2 ]; then eval "exec $fd>&-"; fi; done; ';
// The first terminal that a session leader opens becomes its controlling terminal.
const ON_TERMINAL = `${CLOSE_INHERITED}exec "$@" <"$0" >"$0" 2>"$0"`;
const STDOUT_PIPED = `${CLOSE_INHERITED}exec "$@" <"$0" 2>"$0"`;

export async function runInTerminal(
  command: readonly string[],
  at: Place,
  options: TerminalOptions = {},
): Promise<TerminalOutcome> {
  const { columns = 80, rows = 24, steps = [], stdoutPiped = false, timeoutMs = 20_000 } = options;
  const terminal = openTerminal(columns, rows);
  const child = startOn(terminal, command, at, stdoutPiped, options.env);
  try {
    return await attend(terminal, child, steps, timeoutMs);
  } finally {
    terminal.master.destroy();
    closeSync(terminal.slave);
  }
}

/** Closes the terminal after a text has appeared. @returns the signal that ended the command, if one did */
export async function closeTerminal(
  command: readonly string[],
  at: Place,
  after: string,
): Promise<NodeJS.Signals | null> {
  const terminal = openTerminal(80, 24);
  const child = startOn(terminal, command, at);
  const ended = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>;
  let screen = '';
  await new Promise<void>((found) =>
    terminal.master.on('data', (text: string) => {
      screen += text;
      if (screen.includes(after)) found();
    }),
  );
  closeSync(terminal.slave);
  terminal.master.destroy();
  const [, signal] = await ended;
  return signal;
}

function startOn(
  terminal: OpenTerminal,
  command: readonly string[],
  at: Place,
  stdoutPiped = false,
  env: TerminalOptions['env'] = {},
): ChildProcess {
  return spawn('bash', ['-c', stdoutPiped ? STDOUT_PIPED : ON_TERMINAL, terminal.name, ...command], {
    env: { TERM: 'xterm-256color', ...at.env, ...env },
    cwd: at.dir,
    detached: true,
    stdio: ['ignore', stdoutPiped ? 'pipe' : 'ignore', 'inherit'],
  });
}

interface OpenTerminal {
  readonly master: ReadStream;
  readonly slave: number;
  readonly name: string;
}

function openTerminal(columns: number, rows: number): OpenTerminal {
  const { master, slave: reader, ptsName: name } = open({});
  // A separate descriptor keeps the terminal open, since the returned reader would consume the input.
  const slave = openSync(name, files.O_RDWR | files.O_NOCTTY);
  reader.destroy();
  stty(slave, 'rows', String(rows), 'cols', String(columns));
  return { master, slave, name };
}

async function attend(
  terminal: OpenTerminal,
  child: ChildProcess,
  steps: readonly Step[],
  timeoutMs: number,
): Promise<TerminalOutcome> {
  const typist = new Typist(steps, terminal.master, child);
  const timer = setTimeout(() => typist.kill('timeout'), timeoutMs);
  let stdout = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  const closed = once(child, 'close');
  const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
  clearTimeout(timer);
  await closed;
  write(terminal.slave, END, () => undefined);
  await typist.seenAll;
  const modes = stty(terminal.slave, '-a');
  return {
    code: typist.killed ?? code ?? 128 + (signal ? constants.signals[signal] : 0),
    signal,
    screen: typist.screen.slice(0, typist.screen.lastIndexOf(END)),
    stdout,
    cooked: ['icanon', 'echo', 'isig'].every((mode) => modes.includes(mode)),
    stepsLeft: typist.steps.length,
  };
}

// Reads the screen and performs each step when its text appears after that of the previous step.
class Typist {
  readonly steps: Step[];
  readonly seenAll: Promise<void>;
  readonly #keyboard: ReadStream;
  readonly #child: ChildProcess;
  screen = '';
  killed: string | undefined;
  #seen = 0;
  #busy = false;
  #tail = '';

  constructor(steps: readonly Step[], master: ReadStream, child: ChildProcess) {
    this.steps = [...steps];
    this.#keyboard = master;
    this.#child = child;
    this.seenAll = new Promise((resolve) => {
      master.on('data', (text: string) => {
        this.screen += text;
        const recent = this.#tail + text;
        this.#tail = recent.slice(-END.length);
        if (recent.includes(END)) resolve();
        if (this.screen.length > FLOOD) this.kill('flood');
        else this.#go();
      });
    });
  }

  kill(why: string): void {
    this.killed ??= why;
    this.#child.kill('SIGKILL');
  }

  #go(): void {
    const [step] = this.steps;
    if (this.#busy || !step || !this.screen.includes(step.after, this.#seen)) return;
    this.#busy = true;
    setTimeout(() => {
      this.steps.shift();
      this.#seen = this.screen.indexOf(step.after, this.#seen) + step.after.length;
      if (step.send) this.#keyboard.write(step.send);
      if (step.signal) this.#child.kill(step.signal);
      step.act?.();
      this.#busy = false;
      this.#go();
    }, REACTION_MS);
  }
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
