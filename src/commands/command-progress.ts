// What stderr shows while a command runs: a spinner on a terminal, otherwise one line per wait.

import { formatDuration, localTime } from '../format.ts';
import type { Wait } from '../http/types.ts';
import { colorLevel } from '../io.ts';
import type { Progress } from '../output/progress.ts';
import type { Session } from '../session.ts';

/** A shorter wait is over before it can be read. */
const SHORTEST_WAIT_MS = 1000;
/** Two estimates of the end of one wait differ by less. */
const SAME_WAIT_MS = 1500;
const TICK_MS = 1000;

/** Shows a session's progress on stderr until the returned function is called, which clears the spinner. */
export async function startProgress(session: Session): Promise<() => void> {
  const { context, options, progress } = session;
  const { clock, stderr } = context;
  if (options.quiet) return () => undefined;
  if (options.json) {
    progress.wait = oncePerWait(session, ({ until, reason }) =>
      JSON.stringify({ waiting: { until: new Date(until).toISOString(), reason } }),
    );
    return () => undefined;
  }
  const { canSpin, createLineProgress, createSpinnerProgress } = await import('../output/progress.ts');
  if (options.verbose || !canSpin(stderr, context.env)) {
    progress.wait = oncePerWait(session, (wait) => describeWait(wait, clock.now()));
    const lines = createLineProgress({ stderr, clock });
    progress.status = (text) => lines.update(text?.());
    return () => lines.stop();
  }
  const level = colorLevel(stderr, context.env, options.noColor);
  return showSpinner(session, createSpinnerProgress({ stderr, clock, colorLevel: level }));
}

function oncePerWait({ context }: Session, line: (wait: Wait) => string): (wait: Wait | undefined) => void {
  let shownUntil = Number.NEGATIVE_INFINITY;
  return (wait) => {
    if (!wait || wait.until - context.clock.now() < SHORTEST_WAIT_MS || wait.until <= shownUntil + SAME_WAIT_MS) return;
    shownUntil = wait.until;
    void context.stderr.write(`${line(wait)}\n`);
  };
}

function showSpinner({ context: { clock }, progress }: Session, spinner: Progress): () => void {
  const ended = new AbortController();
  let wait: Wait | undefined;
  let status: (() => string) | undefined;
  let requests = 0;
  // Without a request, a wait or a status nothing is shown, so that a prompt is never painted over.
  const show = (): void => {
    const parts = [status?.(), wait && describeWait(wait, clock.now())].filter((part) => part !== undefined);
    spinner.update(parts.join(' · ') || (requests > 0 ? 'Contacting the service…' : undefined));
  };
  progress.busy = (count) => {
    requests = count;
    show();
  };
  progress.status = (text) => {
    status = text;
    show();
  };
  progress.wait = (next) => {
    wait = next && next.until - clock.now() >= SHORTEST_WAIT_MS ? next : undefined;
    show();
  };
  const countDown = async (): Promise<never> => {
    for (;;) {
      await clock.sleep(TICK_MS, ended.signal);
      if (wait) show();
    }
  };
  countDown().catch(() => undefined);
  return () => {
    ended.abort();
    spinner.stop();
  };
}

function describeWait({ reason, until, failure }: Wait, now: number): string {
  if (reason === 'sibling') return 'waiting for another request to finish';
  const left = formatDuration(until - now);
  if (reason === 'backoff') return `request failed (${failure}); retrying in ${left}`;
  return `waiting for the rate limit, ${left}${until - now > 60_000 ? ` (until ${localTime(until, now)})` : ''}`;
}
