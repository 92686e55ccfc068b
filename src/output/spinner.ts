// The only file that knows ora: a spinner on a terminal, without its habits of touching stdin, colour and the cursor.
import ora from 'ora';
import type { ColorLevel, Output } from '../io.ts';
import { truncate } from './cell-width.ts';
import { loadStyle } from './text.ts';

export interface Spinner {
  /** Starts it or replaces its text, which is cut to one line. */
  show(text: string): void;
  /** Clears its line. */
  stop(): void;
}

// The frame, a space, the ^C that a terminal echoes, and one cell kept free: a full last column wraps on some terminals.
const RESERVED_CELLS = 5;

/** Makes a spinner that is not shown yet. */
export async function createSpinner(stderr: Output, colorLevel: ColorLevel): Promise<Spinner> {
  const style = await loadStyle(colorLevel);
  const spinner = ora({
    stream: asStream(stderr),
    // Otherwise a typed Ctrl-C is lost (ora issue 253).
    discardStdin: false,
    // A stop (Ctrl-Z) or a crash must not leave the shell without a cursor.
    hideCursor: false,
    isEnabled: true,
    // ora's own colour ignores NO_COLOR.
    color: false,
  });
  const { frames, interval = 80 } = spinner.spinner;
  spinner.spinner = { frames: frames.map((frame) => style.cyan(frame)), interval };
  return {
    show(text) {
      spinner.text = truncate(text, (stderr.columns || 80) - RESERVED_CELLS);
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
