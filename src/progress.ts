// Progress on stderr while a command runs: a spinner on a terminal, otherwise a line per wait. The only file that knows ora.
import type { Ora } from 'ora';
import type { Clock } from './clock.ts';
import { escapeControls } from './escape.ts';
import { formatDuration, localTime } from './format.ts';
import type { Wait } from './http/types.ts';
import type { Context, Environment, Output } from './io.ts';
import { colorLevel } from './io.ts';

/** Shorter waits are not shown: they end before they can be read. */
const SHORTEST_WAIT_MS = 1000;
/** Two estimates of the end of one wait differ by less. */
const SAME_WAIT_MS = 1500;
const TICK_MS = 1000;
/** Most responses arrive sooner, and then nothing is shown. */
const SPINNER_DELAY_MS = 150;
const LINE_EVERY_MS = 10_000;
// The frame, a space, the ^C that a terminal echoes, and one cell kept free: a full last column wraps on some terminals.
const RESERVED_CELLS = 5;
// The frame and a space.
const FRAME_CELLS = 2;

interface ProgressOptions {
  readonly json: boolean;
  readonly quiet: boolean;
  readonly verbose: boolean;
  readonly noColor: boolean;
}

/** Whether a stream is a terminal that moves its cursor and knows its width, watched by a person. */
export function canSpin(stderr: Output, env: Environment): boolean {
  return stderr.isTTY && (stderr.columns ?? 0) > 0 && env['TERM'] !== 'dumb' && (env['CI'] ?? '') === '';
}

export class Progress {
  readonly #context: Context;
  readonly #options: ProgressOptions;
  readonly #spinner: Spinner | undefined;
  readonly #ended = new AbortController();
  #wait: Wait | undefined;
  #status: ((room?: number) => string) | undefined;
  #requests = 0;
  #shownUntil = Number.NEGATIVE_INFINITY;
  #lastLineAt: number;

  constructor(context: Context, options: ProgressOptions) {
    const { clock, stderr, env } = context;
    this.#context = context;
    this.#options = options;
    this.#lastLineAt = clock.monotonic();
    if (options.quiet || options.json || options.verbose || !canSpin(stderr, env)) return;
    this.#spinner = new Spinner(stderr, clock, colorLevel(stderr, env, options.noColor) > 0);
    this.#countDown().catch(() => undefined);
  }

  get waiting(): boolean {
    return this.#wait !== undefined;
  }

  /** A wait for the rate limit or before a retry; undefined at its end. */
  wait(wait: Wait | undefined): void {
    const { clock, stderr } = this.#context;
    const { quiet, json } = this.#options;
    this.#wait = wait && wait.until - clock.now() >= SHORTEST_WAIT_MS ? wait : undefined;
    this.#show();
    if (this.#spinner || quiet || !this.#wait || this.#wait.until <= this.#shownUntil + SAME_WAIT_MS) return;
    const { until, reason } = this.#wait;
    this.#shownUntil = until;
    const document = { waiting: { until: new Date(until).toISOString(), reason } };
    void stderr.write(`${json ? JSON.stringify(document) : describeWait(this.#wait, clock.now())[0]}\n`);
  }

  /** The number of requests in flight. */
  busy(requests: number): void {
    this.#requests = requests;
    this.#show();
  }

  /**
   * A command's own status, one line; undefined for none, for example while a prompt is open.
   * @param text is given the cells that it may take, if stderr is a terminal
   */
  status(text: ((room?: number) => string) | undefined): void {
    this.#status = text;
    this.#show();
    const { clock, stderr } = this.#context;
    const { quiet, json } = this.#options;
    if (this.#spinner || quiet || json || !text || this.#ended.signal.aborted) return;
    if (clock.monotonic() - this.#lastLineAt < LINE_EVERY_MS) return;
    this.#lastLineAt = clock.monotonic();
    void stderr.write(`${escapeControls(text())}\n`);
  }

  /** Clears the spinner. To be called before anything else is written. */
  stop(): void {
    this.#ended.abort();
    this.#spinner?.show(undefined);
  }

  // Without a request, a wait or a status nothing is shown, so that a prompt is never painted over.
  #show(): void {
    if (!this.#spinner || this.#ended.signal.aborted) return;
    const room = roomOf(this.#context.stderr);
    const status = this.#status?.(room);
    const waits = this.#wait ? describeWait(this.#wait, this.#context.clock.now()) : [];
    const lines = status === undefined ? waits : waits.map((wait) => `${status} · ${wait}`);
    const text = lines.find(({ length }) => length <= room) ?? status ?? lines.at(-1);
    this.#spinner.show(text || (this.#requests > 0 ? 'Contacting the service…' : undefined));
  }

  async #countDown(): Promise<never> {
    for (;;) {
      await this.#context.clock.sleep(TICK_MS, this.#ended.signal);
      if (this.#wait) this.#show();
    }
  }
}

function roomOf(stderr: Output): number {
  return (stderr.columns || 80) - RESERVED_CELLS;
}

// From the longest text to the shortest, for terminals of any width.
function describeWait({ reason, until, failure }: Wait, now: number): readonly string[] {
  if (reason === 'pending') return ['waiting for another petstore process'];
  const left = formatDuration(until - now);
  const shortest = `wait ${left}`;
  if (reason === 'backoff') return [`request failed (${failure}); retrying in ${left}`, shortest];
  const wait = `waiting ${left} for the rate limit`;
  return [`${wait} to reset${until - now > 60_000 ? ` (until ${localTime(until, now)})` : ''}`, wait, shortest];
}

// Shown after a delay; its code is loaded then.
class Spinner {
  readonly #stderr: Output;
  readonly #clock: Clock;
  readonly #color: boolean;
  #starting: AbortController | undefined;
  #shown: Ora | undefined;
  #text = '';
  // A narrower terminal wraps the line, of which ora clears only the last row.
  readonly #onResize = (): void => {
    const rows = Math.ceil((this.#text.length + FRAME_CELLS) / (this.#stderr.columns || 80));
    void this.#stderr.write(`\r${rows > 1 ? `\u001b[${rows - 1}A` : ''}\u001b[J`);
    this.show(this.#text);
  };

  constructor(stderr: Output, clock: Clock, color: boolean) {
    this.#stderr = stderr;
    this.#clock = clock;
    this.#color = color;
  }

  /** @param text cut to one line; undefined hides the spinner */
  show(text: string | undefined): void {
    if (text === undefined) {
      this.#starting?.abort();
      this.#starting = undefined;
      this.#stderr.raw?.off('resize', this.#onResize);
      this.#shown?.stop();
      this.#shown = undefined;
      return;
    }
    this.#text = escapeControls(text).slice(0, roomOf(this.#stderr));
    if (this.#shown) this.#shown.text = this.#text;
    if (this.#starting) return;
    this.#starting = new AbortController();
    // Neither an aborted delay nor a spinner that cannot be loaded is an error.
    this.#start(this.#starting.signal).catch(() => undefined);
  }

  async #start(signal: AbortSignal): Promise<void> {
    await this.#clock.sleep(SPINNER_DELAY_MS, signal);
    const spinner = await this.#load();
    // The response may have arrived while the code was loading.
    if (signal.aborted) return;
    this.#shown = spinner.start(this.#text);
    this.#stderr.raw?.on('resize', this.#onResize);
  }

  async #load(): Promise<Ora> {
    const { default: ora } = await import('ora');
    const stderr = this.#stderr;
    // The terminal itself, except for its writes: all output passes the redactor.
    const write = { writable: true, value: (text: string) => void stderr.write(text) };
    return ora({
      stream: Object.create(stderr.raw ?? null, { write }) as NodeJS.WriteStream,
      // Otherwise a typed Ctrl-C is lost (ora issue 253).
      discardStdin: false,
      // A stop (Ctrl-Z) or a crash must not leave the shell without a cursor.
      hideCursor: false,
      isEnabled: true,
      // ora itself ignores NO_COLOR.
      color: this.#color ? 'cyan' : false,
    });
  }
}
