// What is said while something takes time: a spinner on a terminal, a line now and then elsewhere.
import type { Clock } from '../clock.ts';
import type { Environment } from '../environment.ts';
import { escapeControls } from '../escape.ts';
import type { ColorLevel, Output } from '../io.ts';
import type { Spinner } from './spinner.ts';

/** Tells what is going on. */
export interface Progress {
  /** @param text what is going on, in one line (what comes from outside is made visible here); undefined: nothing is */
  update(text: string | undefined): void;
  /** Ends it: the spinner is gone and the cursor back when this returns. Called before anything else is written. */
  stop(): void;
}

/** How long nothing is shown, since most answers come sooner; milliseconds. */
export const SPINNER_DELAY_MS = 150;
/** How often a line is written where there is no spinner; milliseconds. */
export const LINE_EVERY_MS = 10_000;

/**
 * Whether a stream can show a spinner. Not at 0 columns, where ora never returns, and not where nobody is looking.
 * @param stderr the stream
 * @param env the environment
 * @returns true for a terminal that moves its cursor and knows its width
 */
export function canSpin(stderr: Output, env: Environment): boolean {
  return stderr.isTTY && (stderr.columns ?? 0) > 0 && env['TERM'] !== 'dumb' && (env['CI'] ?? '') === '';
}

/**
 * Shows a spinner with a text, from 150 ms after there is something to say.
 * @param options `stderr`: a terminal, see `canSpin`; `clock`: times the delay; `colorLevel`: of stderr
 * @returns its control; it must be stopped, also when something fails
 */
export function createSpinnerProgress(options: {
  readonly stderr: Output;
  readonly clock: Clock;
  readonly colorLevel: ColorLevel;
}): Progress {
  const { stderr, clock, colorLevel } = options;
  let text: string | undefined;
  let spinner: Spinner | undefined;
  let rising: AbortController | undefined;
  let ended = false;

  const hide = (): void => {
    rising?.abort();
    rising = undefined;
    spinner?.stop();
    spinner = undefined;
  };
  const rise = async (mine: AbortController): Promise<void> => {
    await clock.sleep(SPINNER_DELAY_MS, mine.signal);
    const { startSpinner } = await import('./spinner.ts');
    const started = mine.signal.aborted ? undefined : await startSpinner(stderr, colorLevel);
    // Between the loading and now the answer may have come: then nothing is shown.
    if (!started || mine.signal.aborted) return;
    spinner = started;
    spinner.show(text ?? '');
  };
  return {
    update(next) {
      if (ended) return;
      text = next === undefined ? undefined : escapeControls(next);
      if (text === undefined) return hide();
      if (spinner) return spinner.show(text);
      if (rising) return;
      rising = new AbortController();
      // An aborted delay is no failure, and a spinner that cannot be shown is no reason to fail either.
      rise(rising).catch(() => undefined);
    },
    stop() {
      ended = true;
      hide();
    },
  };
}

/**
 * Writes a line about what is going on, at most every ten seconds: for pipes, logs and terminals without a cursor.
 * @param options `stderr`: where to; `clock`: times it
 * @returns its control
 */
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
