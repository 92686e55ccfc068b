// The entry point: adapts `process` (streams, signals, environment, exit code) to the Context of a command.
import { homedir, tmpdir } from 'node:os';
import { addAbortSignal } from 'node:stream';
import { isatty } from 'node:tty';
import type { Context, Input, Output } from './cli/context.ts';
import { toEnvironment } from './cli/context.ts';
import { EXIT_CODES, SECRET_VARIABLES } from './cli/reference.ts';
import { systemClock } from './clock.ts';
import { PetstoreError, systemError } from './errors.ts';
import { Redactor } from './text/redact.ts';
import { VERSION } from './version.ts';

/** Time that a command has to report after a signal: it may wait 2 s for a response and 5 s for a state server. */
const SIGNAL_GRACE_MS = 10_000;
/** The signals that end the program, with the exit code that a shell reports. */
const SIGNALS = { SIGINT: 130, SIGQUIT: 131, SIGBREAK: 130, SIGTERM: 143, SIGHUP: 129 } as const;
type Signal = keyof typeof SIGNALS;

/** The codes of a closed pipe (`| head`), which is not an error; EOF occurs on Windows. */
const CLOSED: ReadonlySet<string> = new Set(['EPIPE', 'EOF', 'ERR_STREAM_DESTROYED']);

const redactor = new Redactor();
/** The signal by which the process ends. */
let received: Signal | undefined;

/** Text on stdout is written unchanged; text on stderr is redacted, and a failed write to stderr changes no exit code. */
function output(stream: NodeJS.WriteStream): Output {
  const isStderr = stream === process.stderr;
  // Without a listener, a stream error would end the process with a stack trace.
  stream.on('error', ({ code }: NodeJS.ErrnoException) => {
    // The terminal was closed: an exit would restore its modes, which makes Node 20 abort.
    if (stream.isTTY && code === 'EIO') received ??= 'SIGHUP';
  });
  let isClosed = false;
  return {
    isTTY: stream.isTTY === true,
    get isClosed() {
      return isClosed;
    },
    get columns() {
      return stream.isTTY ? stream.columns : undefined;
    },
    raw: stream,
    write: (text) =>
      new Promise((resolve, reject) => {
        const shown = isStderr && typeof text === 'string' ? redactor.redact(text) : text;
        stream.write(shown, (error: NodeJS.ErrnoException | null | undefined) => {
          isClosed ||= CLOSED.has(error?.code ?? '');
          if (!error || isStderr || isClosed) resolve();
          else reject(systemError(error, 'write the output'));
        });
      }),
  };
}

function input(signal: AbortSignal): Input {
  let isRead = false;
  return {
    isTTY: isatty(0),
    get isRead() {
      return isRead;
    },
    // A getter because opening stdin takes a few milliseconds.
    get raw() {
      return process.stdin;
    },
    async *read() {
      isRead = true;
      try {
        for await (const chunk of addAbortSignal(signal, process.stdin)) yield chunk as unknown as Uint8Array;
      } catch (error) {
        throw signal.aborted ? signal.reason : error;
      }
    },
  };
}

function handleSignals(): AbortSignal {
  const interrupt = new AbortController();
  for (const [name, exitCode] of Object.entries(SIGNALS) as [Signal, number][]) {
    process.on(name, () => {
      if (received) endBy(name);
      received = name;
      const message = exitCode === 130 ? 'interrupted' : 'terminated';
      interrupt.abort(new PetstoreError('interrupted', message, { exitCode }));
      setTimeout(() => endBy(name), SIGNAL_GRACE_MS).unref();
    });
  }
  // With a listener, a write beyond the file size limit fails with EFBIG, even if a package removes its own listener.
  process.on('SIGXFSZ', () => undefined);
  // conf's dependency when-exit would end the process on any signal, before it has reported.
  process.on('newListener', (name: string, listener: () => void) => {
    if (name in SIGNALS || name === 'SIGXFSZ') queueMicrotask(() => process.off(name, listener));
  });
  return interrupt.signal;
}

/** Ends the process by a signal, so that a loop in a shell script ends too. */
function endBy(name: Signal): never {
  if (process.platform !== 'win32') {
    process.removeAllListeners(name);
    process.kill(process.pid, name);
  }
  // Windows has no signals, and the first process of a container ignores them.
  process.exit(SIGNALS[name]);
}

function homeDir(env: Context['env']): string | undefined {
  try {
    return env['HOME'] === '' ? undefined : homedir() || undefined;
  } catch {
    // Without HOME, homedir() throws if the system does not know the user; conf calls it too when it loads.
    process.env['HOME'] = tmpdir();
    return undefined;
  }
}

// A text that needs no command tree: scripts run --version to check that petstore is installed, and shells run `completion`
// when they start.
async function fixedText(args: readonly string[]): Promise<string | undefined> {
  const [word = '', shell = ''] = args;
  if (args.length === 1 && /^(?:--version|-V)$/.test(word)) return `${VERSION}\n`;
  if (args.length !== 2 || word !== 'completion') return undefined;
  return (await import('./cli/commands/completion-scripts.ts')).SCRIPTS.get(shell);
}

async function perform(context: Context): Promise<number> {
  const text = await fixedText(context.args);
  if (text !== undefined) {
    const written = await context.stdout.write(text).catch(() => 'failed');
    // Otherwise, `run` tries again and reports the error.
    if (written !== 'failed') return 0;
  }
  const { run } = await import('./cli/program.ts');
  return run(context);
}

async function main(): Promise<void> {
  // If a promise never settles, Node exits with this code instead of 0.
  process.exitCode = EXIT_CODES.internal.code;
  // Otherwise, Windows would search the current directory for the program of a key command; child processes inherit the variable.
  if (process.platform === 'win32') process.env['NoDefaultCurrentDirectoryInExePath'] = '1';
  const env = toEnvironment(process.env, process.platform);
  // Keep secrets out of child processes and diagnostic reports.
  for (const name of SECRET_VARIABLES) delete process.env[name];
  const signal = handleSignals();
  const context: Context = {
    args: process.argv.slice(2),
    env,
    // A getter because process.cwd() throws in a deleted directory, in which most commands still work.
    get cwd() {
      return process.cwd();
    },
    platform: process.platform,
    nodeVersion: process.versions.node,
    homeDir: homeDir(env),
    version: VERSION,
    stdin: input(signal),
    stdout: output(process.stdout),
    stderr: output(process.stderr),
    clock: systemClock,
    signal,
    interrupt: () => void process.emit('SIGINT'),
    suspend: (onContinue) => {
      process.removeAllListeners('SIGCONT').once('SIGCONT', onContinue);
      process.kill(process.pid, 'SIGTSTP');
    },
    redactor,
    cleanups: [],
  };
  process.exitCode = await perform(context);
  // Wait for earlier writes.
  await Promise.allSettled([context.stdout.write(''), context.stderr.write('')]);
  // A signal and stream errors may still arrive.
  await new Promise(setImmediate);
  if (received) endBy(received);
  process.exit();
}

/** Rejects if the program cannot be loaded. */
export const ended: Promise<void> = main();
