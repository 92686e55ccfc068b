// The only file that touches process: world in, exit code out, signals, pipes, flush.
import { homedir, tmpdir } from 'node:os';
import { systemClock } from './clock.ts';
import { toEnvironment } from './environment.ts';
import { EXIT_CODES, PetstoreError } from './errors.ts';
import type { Input, Output } from './io.ts';
import { Redactor } from './redact.ts';
import type { Context } from './session.ts';
import { VERSION } from './version.ts';

/** How long a command may take to end after Ctrl-C, in milliseconds: a create under way is given 2 s for its answer. */
const GRACE_MS = 4000;
// Ctrl-Break is SIGBREAK, which Windows alone sends.
const SIGNALS = { SIGINT: 130, SIGBREAK: 130, SIGTERM: 143, SIGHUP: 129 } as const;

const redactor = new Redactor();
// Loaded by what prompts or draws.
const jobControl = process.platform === 'win32' ? {} : { jobs: () => import('./job-control.ts') };

// Bytes go out as they came but for a key in them: latin1 keeps every byte as it is.
function clean(text: string | Uint8Array, whole: boolean): string | Uint8Array {
  if (typeof text === 'string') return redactor.redact(text, whole);
  return Buffer.from(redactor.redact(Buffer.from(text).toString('latin1'), whole), 'latin1');
}

// What is said about the answer may be lost: a stderr that takes nothing changes no exit code.
function output(stream: NodeJS.WriteStream, mayBeLost = false): Output {
  let gone = false;
  // Nothing is cut short in data for programs.
  const whole = !mayBeLost && stream.isTTY !== true;
  // Without a listener an error of the stream would end the process with a stack.
  stream.on('error', () => {
    gone = true;
  });
  return {
    isTTY: stream.isTTY === true,
    get columns() {
      return stream.isTTY ? stream.columns : undefined;
    },
    raw: stream,
    ...jobControl,
    write: (text) =>
      new Promise((resolve, reject) => {
        if (gone) return resolve();
        stream.write(clean(text, whole), (error) => {
          const code = (error as NodeJS.ErrnoException | null | undefined)?.code;
          // A reader that has seen enough (`| head`) is no failure.
          if (!error || mayBeLost || code === 'EPIPE' || code === 'ERR_STREAM_DESTROYED') return resolve();
          reject(
            new PetstoreError('storage', `the output could not be written (${code})`, {
              hint: 'check the space and the rights where it goes',
            }),
          );
        });
      }),
  };
}

function input(signal: AbortSignal): Input {
  return {
    isTTY: process.stdin.isTTY === true,
    get raw() {
      return process.stdin;
    },
    ...jobControl,
    async *read() {
      const { stdin } = process;
      const stop = (): void => void stdin.destroy(signal.reason as Error);
      signal.addEventListener('abort', stop, { once: true });
      try {
        signal.throwIfAborted();
        for await (const chunk of stdin) yield chunk as unknown as Uint8Array;
      } finally {
        signal.removeEventListener('abort', stop);
      }
    },
  };
}

function catchSignals(): AbortSignal {
  const interrupt = new AbortController();
  for (const [name, exitCode] of Object.entries(SIGNALS)) {
    process.on(name, () => {
      // The second one means it: at once.
      if (interrupt.signal.aborted) process.exit(exitCode);
      const word = exitCode === 130 ? 'interrupted' : 'terminated';
      interrupt.abort(new PetstoreError('interrupted', word, { exitCode }));
      setTimeout(() => process.exit(exitCode), GRACE_MS).unref();
    });
  }
  return interrupt.signal;
}

function environment(): Context['env'] {
  const env = toEnvironment(process.env, process.platform);
  // Children and diagnostic reports must not inherit the key.
  delete process.env['PETSTORE_API_KEY'];
  return env;
}

function homeDir(env: Context['env']): string | undefined {
  try {
    return env['HOME'] === '' ? undefined : homedir() || undefined;
  } catch {
    // An unknown user without HOME.
    return undefined;
  }
}

function workingDir(env: Context['env']): string {
  try {
    return process.cwd();
  } catch {
    // Somebody removed the folder under us: only a path relative to it is lost.
    return env['PWD'] ?? '/';
  }
}

function flush(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => (stream.destroyed ? resolve() : stream.write('', () => resolve())));
}

// The version is asked for by every script that checks for the program: it needs no command tree.
async function perform(context: Context): Promise<number> {
  if (context.args.length === 1 && /^(?:--version|-V)$/.test(context.args[0] ?? '')) {
    try {
      await context.stdout.write(`${VERSION}\n`);
      return 0;
    } catch (error) {
      const { reportError } = await import('./report-error.ts');
      return reportError(error, context, { json: false, verbose: false, noColor: false });
    }
  }
  const { run } = await import('./run.ts');
  return run(context);
}

// Even where the program itself cannot be loaded, nobody is shown a stack: it may hold a key.
async function lastResort({ args, stderr }: Context): Promise<number> {
  const message = 'petstore could not be loaded or failed while it told of a failure';
  const hint = 'install it again';
  const json = JSON.stringify({ error: { kind: 'internal', message, hint } });
  await stderr.write(args.includes('--json') ? `${json}\n` : `error: ${message}\n${hint}\n`);
  return EXIT_CODES.internal;
}

async function main(): Promise<void> {
  // A promise that is never settled must not look like success.
  process.exitCode = EXIT_CODES.internal;
  const env = environment();
  const signal = catchSignals();
  const context: Context = {
    args: process.argv.slice(2),
    env,
    cwd: workingDir(env),
    platform: process.platform,
    nodeVersion: process.versions.node,
    homeDir: homeDir(env),
    tempDir: tmpdir(),
    version: VERSION,
    stdin: input(signal),
    stdout: output(process.stdout),
    stderr: output(process.stderr, true),
    clock: systemClock,
    signal,
    redactor,
    cleanups: [],
  };
  const code = await perform(context).catch(() => lastResort(context));
  process.exitCode = code;
  await Promise.all([flush(process.stdout), flush(process.stderr)]);
  process.exit(code);
}

void main();
