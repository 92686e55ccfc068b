// Progress on stderr: a spinner on a terminal, a line every ten seconds elsewhere.
import type { Clock } from '../clock.ts';
import type { Environment } from '../environment.ts';
import { escapeControls } from '../escape.ts';
import type { ColorLevel, Output } from '../io.ts';
import type { Spinner } from './spinner.ts';

export interface Progress {
  /** @param text one line; undefined when nothing is happening */
  update(text: string | undefined): void;
  /** Clears the spinner. Must be called before anything else is written. */
  stop(): void;
}

/** Most responses arrive sooner, and then nothing is shown. */
export const SPINNER_DELAY_MS = 150;
export const LINE_EVERY_MS = 10_000;

/** Whether a stream is a terminal that moves its cursor and knows its width, watched by a person. */
export function canSpin(stderr: Output, env: Environment): boolean {
  return stderr.isTTY && (stderr.columns ?? 0) > 0 && env['TERM'] !== 'dumb' && (env['CI'] ?? '') === '';
}

/** Shows a spinner on a terminal; see `canSpin`. */
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
    const { createSpinner } = await import('./spinner.ts');
    const created = signal.aborted ? undefined : await createSpinner(stderr, colorLevel);
    // The response may have arrived while the code was loading.
    if (!created || signal.aborted) return;
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
