// Progress on stderr while a command runs: a spinner on a terminal, otherwise a line per wait. The only file that imports ora.
import type { HttpWait } from '../http/types.ts';
import { escapeControls } from '../text/escape.ts';
import { formatDuration, formatUntil } from '../text/format.ts';
import type { Context } from './context.ts';
import { supportsColor } from './context.ts';
import type { GlobalOptions } from './global-options.ts';

/** Shorter waits are not shown: they end before they can be read. */
const SHORTEST_WAIT_MS = 1000;
/** Waits whose ends differ by less are reported once: they are estimates of the same wait. */
const SAME_WAIT_MS = 1500;
const TICK_MS = 200;
/** Delay before the spinner appears; most responses arrive sooner. */
const SPINNER_DELAY_MS = 150;
// Cells for the frame, a space, an echoed ^C, and the last column, which wraps on some terminals when it is used.
const RESERVED_CELLS = 5;

type ProgressOptions = Pick<GlobalOptions, 'json' | 'quiet' | 'verbose' | 'color'>;

export class Progress {
  readonly #context: Context;
  readonly #options: ProgressOptions;
  /** Whether stderr is a terminal with a movable cursor and a known width, outside of CI, and no option forbids a spinner. */
  readonly #hasScreen: boolean;
  /** Aborted when the spinner is hidden, even before it has appeared. */
  #spinning: AbortController | undefined;
  #wait: HttpWait | undefined;
  #status: ((room: number) => string) | undefined;
  #requests = 0;
  #shownUntil = Number.NEGATIVE_INFINITY;
  #ended = false;

  constructor(context: Context, options: ProgressOptions) {
    const { stderr, env } = context;
    const { quiet, json, verbose } = options;
    this.#context = context;
    this.#options = options;
    const isTerminal = stderr.isTTY && (stderr.columns ?? 0) > 0 && env['TERM'] !== 'dumb' && !env['CI'];
    this.#hasScreen = isTerminal && !quiet && !json && !verbose;
  }

  /** Without a terminal as stdin, processes may share stderr (`xargs -P`), and their spinners would overwrite each other. */
  get #canSpin(): boolean {
    const { stdin } = this.#context;
    return this.#hasScreen && (stdin.isTTY || stdin.isRead === true);
  }

  get isWaiting(): boolean {
    return this.#wait !== undefined;
  }

  /** Shows a wait, for example for the rate limit or before a retry; undefined ends it. */
  wait(wait: HttpWait | undefined): void {
    const { clock, stderr } = this.#context;
    const { quiet, json } = this.#options;
    this.#wait = wait && wait.until - clock.now() >= SHORTEST_WAIT_MS ? wait : undefined;
    this.#update();
    if (this.#canSpin || quiet || !this.#wait || this.#wait.until <= this.#shownUntil + SAME_WAIT_MS) return;
    const { until, reason } = this.#wait;
    this.#shownUntil = until;
    const document = { waiting: { until: new Date(until).toISOString(), reason } };
    void stderr.write(`${json ? JSON.stringify(document) : describeWait(this.#wait, clock.now())[0]}\n`);
  }

  /** Sets the number of requests in flight: the spinner shows while there are any. */
  busy(requests: number): void {
    this.#requests = requests;
    this.#update();
  }

  /**
   * Shows a command's own status on a terminal, one line; undefined hides it.
   * @param text formats the status to at most `room` cells
   */
  status(text: ((room: number) => string) | undefined): void {
    this.#status = text;
    this.#update();
  }

  /** Clears the spinner for good; call it before the result or an error is written. */
  stop(): void {
    this.#ended = true;
    this.#update();
  }

  // Shows nothing without a request, a wait or a status, so that the spinner never overwrites a prompt.
  #update(): void {
    if (this.#ended || (this.#requests === 0 && !this.#wait && !this.#status)) {
      this.#spinning?.abort();
      this.#spinning = undefined;
      return;
    }
    if (!this.#canSpin || this.#spinning) return;
    this.#spinning = new AbortController();
    // The sleep of a hidden spinner rejects, and a spinner that cannot be loaded is not an error.
    this.#spin(this.#spinning.signal).catch(() => undefined);
  }

  async #spin(hidden: AbortSignal): Promise<void> {
    const { clock, stderr, env } = this.#context;
    await clock.sleep(SPINNER_DELAY_MS, hidden);
    const { default: ora } = await import('ora');
    const spinner = ora({
      ...(stderr.raw && { stream: stderr.raw }),
      // Otherwise a typed Ctrl-C is lost (ora issue 253).
      discardStdin: false,
      // A stop (Ctrl-Z) or a crash must not leave the shell without a cursor.
      hideCursor: false,
      isEnabled: true,
      // ora itself ignores NO_COLOR.
      color: supportsColor(stderr, env, this.#options.color) ? 'cyan' : false,
    });
    hidden.addEventListener('abort', () => spinner.stop());
    // The response may have arrived while the code was loading.
    while (!hidden.aborted) {
      spinner.start(this.#text());
      await clock.sleep(TICK_MS, hidden);
    }
  }

  // Fits the text into one line: a cut would lose the remaining time at its end.
  #text(): string {
    const { signal, stderr, clock } = this.#context;
    const room = (stderr.columns || 80) - RESERVED_CELLS;
    const now = clock.now();
    const waits = this.#wait
      ? [...describeWait(this.#wait, now), `wait ${formatDuration(this.#wait.until - now)}`]
      : [];
    const status = this.#status && escapeControls(this.#status(room));
    if (status !== undefined) {
      const wait = longestFitting(waits, room - `${status} · `.length);
      if (wait !== undefined) return `${status} · ${wait}`;
      if (status.length <= room) return status;
    }
    // After a signal, only a create or other change is still in flight.
    const busy = signal.aborted
      ? ['waiting for the response; press Ctrl-C again to exit', 'waiting; Ctrl-C again to exit']
      : ['Contacting the service…'];
    return longestFitting([...waits, ...busy], room) ?? '';
  }
}

/** @param texts from the longest to the shortest */
function longestFitting(texts: readonly string[], room: number): string | undefined {
  return texts.map((text) => escapeControls(text)).find(({ length }) => length <= room);
}

/** The wait in full, and shorter for a narrow terminal. */
function describeWait(
  { reason, until, isOwn, failure = '', status }: HttpWait,
  now: number,
): readonly [string, ...string[]] {
  const left = formatDuration(until - now);
  const retrying = `retrying in ${left}`;
  const end = formatUntil(until, now);
  // The last part of `cannot connect to HOST: connection refused` is the cause.
  const cause = failure.slice(failure.lastIndexOf(': ') + 1).trim();
  switch (reason) {
    case 'pending':
      if (isOwn) return ['waiting for a response'];
      return ['waiting for another petstore process', 'waiting for another process'];
    case 'list':
      return [`the list is incomplete; fetching it again in ${left}`, `incomplete list; ${retrying}`];
    case 'requests':
      return [`waiting ${left} for creates that may still be processed`, `waiting ${left} for earlier creates`];
    case 'lock':
      return [`waiting ${left} to confirm the import lock on the state server`, `waiting ${left} to confirm the lock`];
    case 'backoff':
      return [`request failed (${failure}); ${retrying}`, `${cause}; ${retrying}`];
    case 'blocked':
      return [`rate limited (${status}); ${retrying}${end}`, `rate limited; ${retrying}`];
    case 'window':
      return [`waiting ${left} for the rate limit to reset${end}`, `waiting ${left} for the rate limit`];
  }
}
