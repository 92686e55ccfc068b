// `petstore quota`: limit, remaining and reset, and whether and why the key is blocked.

import { Command } from 'commander';
import { action, sections } from '../command.ts';
import { formatDuration, formatRemaining, localTime } from '../format.ts';
import type { Column, TextContext, View } from '../output/view.ts';
import type { QuotaView, WindowView } from '../rate-limit/quota-view.ts';
import type { Session } from '../session.ts';

interface QuotaOptions {
  readonly refresh?: true;
  readonly forget?: true;
}

interface Quota {
  readonly profile: string;
  readonly known: QuotaView;
}

const view: View<Quota> = {
  json: toJson,
  text: (data, context) => context.table(FACTS, facts(data, context), { headings: false }),
  tables: true,
};

export const quota = (): Command =>
  new Command('quota')
    .description('show what is left of the rate limit, as of the last response')
    .option('--refresh', 'send one GET /categories first')
    .option('--forget', 'clear the cached quota of this key, including a block after a 429')
    .addHelpText(
      'after',
      sections({
        notes: `Nothing is sent without --refresh. All petstore processes that use the same key and base URL share the
quota: what one of them learns, and a block after a 429, applies to all.`,
        output: `remaining requests, limit and reset; with --json {"profile", "limit", "remaining", "resetAt", "blocked",
"nextRequestAt", ...}, null where unknown.`,
        examples: [
          'petstore quota',
          'petstore quota --refresh -p staging',
          'petstore quota --json | jq .remaining',
          'petstore quota --forget',
        ],
      }),
    )
    .action(action(view, readQuota));

async function readQuota(session: Session, { forget, refresh }: QuotaOptions): Promise<Quota> {
  const { profile } = await session.target();
  const ledger = await session.ledger();
  if (forget) {
    await ledger.forget();
    await session.notice('Cleared the cached quota');
  }
  if (refresh) await (await session.api()).categories.list();
  await ledger.refresh();
  return { profile, known: ledger.view() };
}

function toJson({ profile, known }: Quota): unknown {
  const { longWindow, blocked, clockOffset } = known;
  const window = known.window ?? longWindow;
  return {
    profile,
    limit: window?.limit ?? null,
    remaining: window?.remaining ?? null,
    resetAt: iso(window?.resetAt),
    resetPassed: window?.over ?? null,
    seenAt: iso(known.seenAt),
    blocked: blocked ? { ...blocked, until: iso(blocked.until), since: iso(blocked.since) } : null,
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
    clockOffsetMs: clockOffset ? { atLeast: clockOffset.lo, atMost: clockOffset.hi } : null,
    sharedWithOtherProcesses: known.shared,
    stateServer: known.stateServer ?? null,
  };
}

function iso(at: number | undefined): string | null {
  return at === undefined ? null : new Date(at).toISOString();
}

const REASONS: Readonly<Record<NonNullable<QuotaView['blocked']>['reason'], string>> = {
  retry_after: 'Retry-After of a 429',
  reset: 'reset of a 429',
  backoff: 'exponential backoff after 429s',
};

type Fact = readonly [name: string, text: string];

const FACTS: readonly Column<Fact>[] = [
  { header: 'name', value: ([name]) => name },
  { header: 'text', value: ([, text]) => text, wrap: true },
];

function facts({ profile, known }: Quota, { now }: TextContext): readonly Fact[] {
  const { window, longWindow, blocked, nextAt, seenAt, stateServer } = known;
  const nearest = window ?? longWindow;
  const rows: Fact[] = [['profile', profile]];
  if (nearest) rows.push(...windowFacts('remaining', nearest, now));
  else rows.push(['remaining', 'unknown; run `petstore quota --refresh`']);
  if (window && longWindow) rows.push(...windowFacts('long window', longWindow, now));
  if (blocked) rows.push(['blocked', `for ${time('until', blocked.until, now)}: ${REASONS[blocked.reason]}`]);
  else if (nextAt !== undefined) rows.push(['next', `in ${time('at', nextAt, now)}`]);
  if (seenAt !== undefined) rows.push(['updated', `${formatDuration(now - seenAt)} ago`]);
  if (stateServer) rows.push(['shared', `with all machines that use ${stateServer}`]);
  if (!known.shared) rows.push(['shared', 'no: the state folder cannot be written']);
  return rows;
}

function windowFacts(name: string, window: WindowView, now: number): readonly Fact[] {
  const reset = window.over
    ? `${formatDuration(now - window.resetAt)} ago; the next response shows what is left now`
    : `in ${time('at', window.resetAt, now)}`;
  return [
    [name, formatRemaining(window.remaining, window.limit)],
    ['reset', reset],
  ];
}

function time(preposition: string, at: number, now: number): string {
  const left = formatDuration(at - now);
  return at - now > 60_000 ? `${left} (${preposition} ${localTime(at, now)})` : left;
}
