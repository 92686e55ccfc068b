// `petstore quota`: limit, remaining, reset, and whether and why the key is blocked. Sends nothing unless asked to.

import { formatDuration } from '../../duration.ts';
import type { Style, TextContext, View } from '../../output/view.ts';
import { hangingIndent } from '../../output/wrap.ts';
import type { QuotaView, WindowView } from '../../rate-limit/quota-view.ts';
import type { Session } from '../../session.ts';

/** What the command takes. */
export interface QuotaInput {
  readonly refresh: boolean;
  readonly forget: boolean;
}

/** What is known of the quota of one profile's key. */
export interface Quota {
  readonly profile: string;
  readonly known: QuotaView;
  /** The clock of its times minus this machine's, milliseconds. */
  readonly clockAhead: number;
}

/**
 * @param session the open session
 * @param input whether to forget first, and whether to ask the service
 * @returns what is known
 * @throws PetstoreError as a list of categories does, with `refresh`
 */
export async function run(session: Session, input: QuotaInput): Promise<Quota> {
  const { profile } = await session.target();
  const ledger = await session.ledger();
  if (input.forget) ledger.forget();
  if (input.refresh) await (await session.api()).categories.list();
  await ledger.refresh();
  return { profile, known: ledger.view(), clockAhead: ledger.clock.now() - session.context.clock.now() };
}

/** JSON in ISO times with null for what is unknown; text with a bar on a terminal. */
export const view: View<Quota> = { json: toJson, text: describe };

function toJson({ profile, known }: Quota): unknown {
  const { longWindow, blocked, clockOffset } = known;
  // Where only a long one was ever told of, that is the rate limit as the last response said it.
  const window = known.window ?? longWindow;
  return {
    profile,
    limit: window?.limit ?? null,
    remaining: window?.remaining ?? null,
    resetAt: window ? iso(window.resetAt) : null,
    resetPassed: window?.over ?? null,
    seenAt: iso(known.seenAt),
    blocked: blocked
      ? { until: iso(blocked.until), since: iso(blocked.since), reason: blocked.reason, refusals: blocked.refusals }
      : null,
    nextRequestAt: iso(known.nextAt),
    longWindow: longWindow
      ? {
          limit: longWindow.limit ?? null,
          remaining: longWindow.remaining,
          resetAt: iso(longWindow.resetAt),
          resetPassed: longWindow.over,
          seenAt: iso(longWindow.seenAt),
        }
      : null,
    inFlight: known.inFlight,
    processesInTheLastMinute: known.processes,
    clockOffsetMs: clockOffset ? { atLeast: clockOffset.lo, atMost: clockOffset.hi } : null,
    sharedWithOtherProcesses: known.shared,
    stateServer: known.stateServer ?? null,
  };
}

function iso(at: number | undefined): string | null {
  return at === undefined ? null : new Date(at).toISOString();
}

const REASONS: Readonly<Record<NonNullable<QuotaView['blocked']>['reason'], string>> = {
  'retry-after': 'a 429 said so (Retry-After)',
  reset: 'a 429 came, and the limit resets then',
  backoff: 'a 429 came without a time, so the pause is exponential',
  spent: "refused again and again: the day's quota is used up, or the key is banned",
};

/** Where the texts begin, in cells: after the longest name and a blank. */
const INDENT = 12;

function* describe({ profile, known, clockAhead }: Quota, context: TextContext): Iterable<string> {
  const look = { ...context, now: context.now + clockAhead };
  const { style, now } = look;
  const line = (name: string, text: string, paint = (words: string): string => words): string =>
    `${style.dim(name.padEnd(11))} ${paint(hangingIndent(text, look.columns, INDENT))}\n`;
  yield line('profile', profile);
  if (known.window) yield* describeWindow('remaining', known.window, look);
  else if (known.longWindow) yield* describeWindow('remaining', known.longWindow, look);
  else yield line('remaining', 'unknown: no response seen yet (petstore quota --refresh asks)');
  if (known.window && known.longWindow) yield* describeWindow('long window', known.longWindow, look);
  if (known.blocked) {
    const until = `${clockTime(known.blocked.until)}, for ${formatDuration(known.blocked.until - now)}`;
    yield line('blocked', `until ${until}: ${REASONS[known.blocked.reason]}`, style.red);
  } else if (known.nextAt !== undefined) {
    yield line('next', `at ${clockTime(known.nextAt)}, in ${formatDuration(known.nextAt - now)}`);
  }
  if (known.seenAt !== undefined) yield line('seen', seen(known, now));
  if (known.inFlight > 0) yield line('in flight', String(known.inFlight));
  if (known.stateServer) yield line('shared', `by all machines that use the state server at ${known.stateServer}`);
  if (!known.shared) yield line('shared', 'no: the state folder cannot be written', style.yellow);
}

function* describeWindow(name: string, window: WindowView, { style, columns, now }: TextContext): Iterable<string> {
  const of = window.limit === undefined ? '' : ` of ${window.limit}`;
  const bar = columns !== undefined && columns >= 50 && window.limit !== undefined ? `  ${barOf(window, style)}` : '';
  yield `${style.dim(name.padEnd(11))} ${window.remaining}${of} left${bar}\n`;
  const when = window.over
    ? `passed at ${clockTime(window.resetAt)}: what is left now shows with the next response`
    : `at ${clockTime(window.resetAt)}, in ${formatDuration(window.resetAt - now)}`;
  yield `${style.dim('reset'.padEnd(11))} ${hangingIndent(when, columns, INDENT)}\n`;
}

const BAR_CELLS = 20;

function barOf(window: WindowView, style: Style): string {
  const share = window.remaining / (window.limit ?? 1);
  const full = window.remaining === 0 ? 0 : Math.max(1, Math.round(share * BAR_CELLS));
  const paint = share > 0.5 ? style.green : share > 0.1 ? style.yellow : style.red;
  return `${paint('█'.repeat(full))}${style.dim('░'.repeat(BAR_CELLS - full))}`;
}

function seen(known: QuotaView, now: number): string {
  const ago = formatDuration(now - (known.seenAt ?? now));
  const who =
    known.processes === 1 ? '1 process' : `${known.processes >= 50 ? '50 or more' : known.processes} processes`;
  return `${ago} ago; ${known.processes === 0 ? 'no process' : who} sent with this key in the last minute`;
}

function clockTime(at: number): string {
  return new Date(at).toISOString().replace(/\.\d+Z$/, 'Z');
}
