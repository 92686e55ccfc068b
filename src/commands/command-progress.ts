// What goes on stderr while a verb runs: a spinner on a terminal, every wait for the rate limit, a long work's progress.

import { formatDuration } from '../duration.ts';
import type { Wait } from '../http/types.ts';
import { colorLevel } from '../io.ts';
import type { Session } from '../session.ts';

/** A shorter wait is over before it is read. */
const WORTH_TELLING_MS = 1000;
/** A window's end is looked for a little before it is certain: that is the same wait. */
const SAME_WAIT_MS = 1500;
/** A countdown counts seconds. */
const TICK_MS = 1000;

const nothing = (): void => undefined;

/**
 * Accompanies one command: listens to `session.watch` until it is ended.
 * @param session whose stderr is used
 * @returns ends it, spinner gone and cursor back; to be called before the answer or the error is written
 */
export async function startProgress(session: Session): Promise<() => void> {
  const { context, options, progress } = session;
  if (options.quiet) return nothing;
  if (options.json) {
    progress.wait = tellOnce(session, (wait, until) => JSON.stringify({ waiting: { until, reason: wait.reason } }));
    return nothing;
  }
  const { canSpin, createLineProgress } = await import('../output/progress.ts');
  if (!options.verbose && canSpin(context.stderr, context.env)) return spin(session);
  progress.wait = tellOnce(session, (wait, until) => `${sentence(wait, context.clock.now())} (until ${until})`);
  const lines = createLineProgress(context);
  progress.status = (text) => lines.update(text?.());
  return () => lines.stop();
}

// Each wait is one line, however often the sender reports it.
function tellOnce(session: Session, line: (wait: Wait, until: string) => string): (wait: Wait | undefined) => void {
  const { clock, stderr } = session.context;
  let told = Number.NEGATIVE_INFINITY;
  return (wait) => {
    if (!wait || wait.until - clock.now() < WORTH_TELLING_MS || wait.until <= told + SAME_WAIT_MS) return;
    told = wait.until;
    void stderr.write(`${line(wait, new Date(wait.until).toISOString())}\n`);
  };
}

async function spin(session: Session): Promise<() => void> {
  const { context, options, progress } = session;
  const { createSpinnerProgress } = await import('../output/progress.ts');
  const level = colorLevel(context.stderr, context.env, options.noColor);
  const spinner = createSpinnerProgress({ stderr: context.stderr, clock: context.clock, colorLevel: level });
  const ended = new AbortController();
  let wait: Wait | undefined;
  let said: (() => string) | undefined;
  let busy = 0;
  const show = (): void => {
    const waiting = wait ? sentence(wait, context.clock.now()) : undefined;
    // A prompt must not be painted over: without a request under way, a wait or words of the verb there is no spinner.
    spinner.update([waiting, said?.()].filter(Boolean).join(' · ') || (busy > 0 ? 'asking the service' : undefined));
  };
  progress.busy = (requests) => {
    busy = requests;
    show();
  };
  progress.status = (text) => {
    said = text;
    show();
  };
  progress.wait = (news) => {
    wait = news && news.until - context.clock.now() >= WORTH_TELLING_MS ? news : undefined;
    show();
  };
  void (async () => {
    for (;;) {
      await context.clock.sleep(TICK_MS, ended.signal);
      if (wait) show();
    }
  })().catch(nothing);
  return () => {
    ended.abort();
    spinner.stop();
  };
}

function sentence(wait: Wait, now: number): string {
  const left = formatDuration(wait.until - now);
  if (wait.reason === 'sibling') return 'waiting for the answer to a request under way';
  if (wait.reason === 'backoff') return `that try failed, trying again in ${left}`;
  // Short, and the time near its beginning: at 40 columns it must not be cut away.
  return `${wait.reason === 'blocked' ? 'rate limited' : 'quota used up'}, going on in ${left}`;
}
