// Progress on stderr: a spinner on a terminal, a line every ten seconds elsewhere. The only file that knows ora.
import type { Clock } from '../clock.ts';
import { escapeControls } from '../escape.ts';
import type { ColorLevel, Environment, Output } from '../io.ts';

export interface Progress {
  /** @param text one line; undefined when nothing is happening */
  update(text: string | undefined): void;
  /** Clears the spinner. Must be called before anything else is written. */
  stop(): void;
}

/** Most responses arrive sooner, and then nothing is shown. */
export const SPINNER_DELAY_MS = 150;
export const LINE_EVERY_MS = 10_000;
// The frame, a space, the ^C that a terminal echoes, and one cell kept free: a full last column wraps on some terminals.
const RESERVED_CELLS = 5;

/** Whether a stream is a terminal that moves its cursor and knows its width, watched by a person. */
export function canSpin(stderr: Output, env: Environment): boolean {
  return stderr.isTTY && (stderr.columns ?? 0) > 0 && env['TERM'] !== 'dumb' && (env['CI'] ?? '') === '';
}

export function createSpinnerProgress(options: {
  readonly stderr: Output;
  readonly clock: Clock;
  readonly colorLevel: ColorLevel;
}): Progress {
  const { stderr, clock, colorLevel } = options;
  let text = '';
  let spinner: Spinner | undefined;
  let starting: AbortController | undefined;
  let ended = false;

  const hide = (): void => {
    starting?.abort();
    starting = undefined;
    spinner?.stop();
    spinner = undefined;
  };
  const start = async ({ signal }: AbortController): Promise<void> => {
    await clock.sleep(SPINNER_DELAY_MS, signal);
    const created = await loadSpinner(stderr, colorLevel);
    // The response may have arrived while the code was loading.
    if (signal.aborted) return;
    spinner = created;
    spinner.show(text);
  };
  return {
    update(next) {
      if (ended) return;
      if (next === undefined) return hide();
      text = escapeControls(next);
      if (spinner) return spinner.show(text);
      if (starting) return;
      starting = new AbortController();
      // Neither an aborted delay nor a spinner that cannot be shown is an error.
      start(starting).catch(() => undefined);
    },
    stop() {
      ended = true;
      hide();
    },
  };
}

interface Spinner {
  /** Starts it or replaces its text, which is cut to one line. */
  show(text: string): void;
  stop(): void;
}

// A spinner that is not shown yet, without ora's habits of touching stdin and the cursor.
async function loadSpinner(stderr: Output, colorLevel: ColorLevel): Promise<Spinner> {
  const { default: ora } = await import('ora');
  const spinner = ora({
    stream: asStream(stderr),
    // Otherwise a typed Ctrl-C is lost (ora issue 253).
    discardStdin: false,
    // A stop (Ctrl-Z) or a crash must not leave the shell without a cursor.
    hideCursor: false,
    isEnabled: true,
    // ora itself ignores NO_COLOR.
    color: colorLevel > 0 ? 'cyan' : false,
  });
  return {
    show(text) {
      spinner.text = text.slice(0, (stderr.columns || 80) - RESERVED_CELLS);
      if (!spinner.isSpinning) spinner.start();
    },
    stop: () => void spinner.stop(),
  };
}

// The terminal itself, but for its writes: all output passes the redactor.
function asStream(stderr: Output): NodeJS.WriteStream {
  return Object.create(stderr.raw ?? null, {
    write: { writable: true, value: (text: string) => void stderr.write(text) },
  }) as NodeJS.WriteStream;
}

/** Writes a line at most every ten seconds: for pipes, logs and terminals without a cursor. */
export function createLineProgress(options: { readonly stderr: Output; readonly clock: Clock }): Progress {
  const { stderr, clock } = options;
  let last = clock.monotonic();
  let ended = false;
  return {
    update(text) {
      if (ended || text === undefined || clock.monotonic() - last < LINE_EVERY_MS) return;
      last = clock.monotonic();
      void stderr.write(`${escapeControls(text)}\n`);
    },
    stop() {
      ended = true;
    },
  };
}
