// The one door to ora: its spinner on a stream of ours, without its habits of touching stdin, colour and the process.
import { clearLine, cursorTo, moveCursor } from 'node:readline';
import ora from 'ora';
import type { ColorLevel, Output } from '../io.ts';
import { truncate } from './cell-width.ts';
import { styleFor } from './text-context.ts';

/** A spinner on a terminal. */
export interface Spinner {
  /** @param text made visible before; it is cut to one line of the terminal */
  show(text: string): void;
  /** Clears its line and shows the cursor again. */
  stop(): void;
}

// The frame, a blank, and one cell kept free: a full last column wraps on some terminals.
const RESERVED_CELLS = 3;
const SHOW_CURSOR = '\u001b[?25h';
const HIDE_CURSOR = '\u001b[?25l';

/**
 * Makes a spinner that nobody sees yet.
 * @param stderr a terminal of more than 0 columns
 * @param colorLevel of that stream
 * @returns its control
 */
export async function startSpinner(stderr: Output, colorLevel: ColorLevel): Promise<Spinner> {
  const style = await styleFor(colorLevel);
  const jobs = await stderr.jobs?.();
  const spinner = ora({
    stream: asStream(stderr),
    // With it, a typed Ctrl-C is never seen (ora issue 253), and raw mode outlives the process.
    discardStdin: false,
    isEnabled: true,
    // ora's own colour ignores NO_COLOR: the frames are painted here.
    color: false,
  });
  const { frames, interval } = spinner.spinner;
  spinner.spinner = {
    frames: frames.map((frame) => style.cyan(frame)),
    ...(interval === undefined ? {} : { interval }),
  };
  let forget: (() => void) | undefined;
  return {
    show(text) {
      spinner.text = truncate(text, widthOf(stderr) - RESERVED_CELLS);
      if (spinner.isSpinning) return;
      spinner.start();
      forget = jobs?.onStop((stops) => void stderr.write(stops ? SHOW_CURSOR : HIDE_CURSOR));
    },
    stop() {
      forget?.();
      spinner.stop();
    },
  };
}

// A terminal that is made 0 columns wide while the spinner turns must not become a division by zero.
function widthOf(stderr: Output): number {
  return stderr.columns || 80;
}

// What ora needs of a stream, on top of an Output: so that fake terminals work too, and no real one is reached around it.
function asStream(stderr: Output): NodeJS.WriteStream {
  const stream = {
    isTTY: true,
    get columns() {
      return widthOf(stderr);
    },
    write(text: string) {
      void stderr.write(text);
      return true;
    },
    cursorTo: (x: number) => cursorTo(self, x),
    moveCursor: (dx: number, dy: number) => moveCursor(self, dx, dy),
    clearLine: (direction: -1 | 0 | 1) => clearLine(self, direction),
    once: () => undefined,
    removeListener: () => undefined,
  };
  const self = stream as unknown as NodeJS.WriteStream;
  return self;
}
