// What stderr shows while a command runs: a spinner on a terminal, otherwise one line per wait.

import { formatDuration, localTime } from './format.ts';
import type { Wait } from './http/types.ts';
import type { Context } from './io.ts';
import { colorLevel } from './io.ts';
import { canSpin, createLineProgress, createSpinnerProgress } from './output/progress.ts';

/** A shorter wait is over before it can be read. */
const SHORTEST_WAIT_MS = 1000;
/** Two estimates of the end of one wait differ by less. */
const SAME_WAIT_MS = 1500;
const TICK_MS = 1000;

interface ProgressOptions {
  readonly json: boolean;
  readonly quiet: boolean;
  readonly verbose: boolean;
  readonly noColor: boolean;
}

export interface Progress {
  /** A wait for the rate limit; undefined at its end. */
  wait(wait: Wait | undefined): void;
  readonly waiting: boolean;
  /** The number of requests in flight. */
  busy(requests: number): void;
  /** A command's own status text; undefined for none, for example while a prompt is open. */
  status(text: (() => string) | undefined): void;
  /** Clears the spinner. To be called before anything else is written. */
  stop(): void;
}

/** Nothing is shown before there is something to say. */
export function openProgress(context: Context, options: ProgressOptions): Progress {
  const { clock, stderr, env } = context;
  const spins = !options.quiet && !options.json && !options.verbose && canSpin(stderr, env);
  if (spins) return spinning(context, options);
  const lines = createLineProgress({ stderr, clock });
  let shownUntil = Number.NEGATIVE_INFINITY;
  let waiting = false;
  const describe = (wait: Wait): string =>
    options.json
      ? JSON.stringify({ waiting: { until: new Date(wait.until).toISOString(), reason: wait.reason } })
      : describeWait(wait, clock.now());
  return {
    wait(wait) {
      waiting = wait !== undefined;
      if (options.quiet || !wait) return;
      if (wait.until - clock.now() < SHORTEST_WAIT_MS || wait.until <= shownUntil + SAME_WAIT_MS) return;
      shownUntil = wait.until;
      void stderr.write(`${describe(wait)}\n`);
    },
    get waiting() {
      return waiting;
    },
    busy: () => undefined,
    status: (text) => (options.quiet || options.json ? undefined : lines.update(text?.())),
    stop: () => lines.stop(),
  };
}

function spinning({ clock, stderr, env }: Context, { noColor }: ProgressOptions): Progress {
  const spinner = createSpinnerProgress({ stderr, clock, colorLevel: colorLevel(stderr, env, noColor) });
  const ended = new AbortController();
  let wait: Wait | undefined;
  let status: (() => string) | undefined;
  let requests = 0;
  // Without a request, a wait or a status nothing is shown, so that a prompt is never painted over.
  const show = (): void => {
    const parts = [status?.(), wait && describeWait(wait, clock.now())].filter((part) => part !== undefined);
    spinner.update(parts.join(' · ') || (requests > 0 ? 'Contacting the service…' : undefined));
  };
  const countDown = async (): Promise<never> => {
    for (;;) {
      await clock.sleep(TICK_MS, ended.signal);
      if (wait) show();
    }
  };
  countDown().catch(() => undefined);
  return {
    wait(next) {
      wait = next && next.until - clock.now() >= SHORTEST_WAIT_MS ? next : undefined;
      show();
    },
    get waiting() {
      return wait !== undefined;
    },
    busy(count) {
      requests = count;
      show();
    },
    status(text) {
      status = text;
      show();
    },
    stop() {
      ended.abort();
      spinner.stop();
    },
  };
}

function describeWait({ reason, until, failure }: Wait, now: number): string {
  if (reason === 'pending') return 'waiting for another request to finish';
  const left = formatDuration(until - now);
  if (reason === 'backoff') return `request failed (${failure}); retrying in ${left}`;
  return `waiting for the rate limit, ${left}${until - now > 60_000 ? ` (until ${localTime(until, now)})` : ''}`;
}
