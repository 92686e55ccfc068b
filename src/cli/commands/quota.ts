// `petstore quota`: shows the quota and its reset, and a block of the key with its reason.
import type { Quota, QuotaWindow } from '../../rate-limit/quota.ts';
import { windowIn } from '../../rate-limit/quota.ts';
import { formatDuration, formatMaximum, formatRemaining, formatTime } from '../../text/format.ts';
import type { Action } from '../command.ts';
import { actionHandler, PetstoreCommand } from '../command.ts';
import { usedProfileName } from '../profiles/credentials.ts';
import { READ_ERRORS } from '../reference.ts';

interface ProfileQuota {
  /** Null if the base URL comes from the environment. */
  readonly profile: string | null;
  readonly known: Quota;
  /** Whether the quota comes from a response to this command. */
  readonly refreshed: boolean;
}

const quotaAction: Action<{ readonly refresh?: boolean; readonly clear?: true }, ProfileQuota> = {
  async run(session, { clear, refresh: refreshed = false }) {
    const profile = usedProfileName(await session.target()) ?? null;
    const ledger = await session.ledger();
    if (clear) {
      await ledger.forget();
      await session.notice('Cleared the cached quota');
    }
    if (refreshed) await (await session.categories()).list();
    await ledger.refresh();
    return { profile, known: ledger.quota(), refreshed };
  },
  view: {
    json: ({ profile, known }) => ({ profile, ...JSON.parse(JSON.stringify(known, isoTime)) }),
    showsQuota: true,
    text: (data, { now }) => facts(data, now).map(([name, text]) => `${name.padEnd(14)}${text}\n`),
  },
};

// Shows times in ISO 8601: `…At`, `until` and `since`.
function isoTime(name: string, value: unknown): unknown {
  return /(?:At|^until|^since)$/.test(name) && typeof value === 'number' ? new Date(value).toISOString() : value;
}

const REASONS: Readonly<Record<NonNullable<Quota['blocked']>['reason'], string>> = {
  retry_after: 'Retry-After',
  reset: 'the reset time',
  backoff: 'exponential backoff',
};

type Fact = readonly [name: string, text: string];

function facts({ profile, known, refreshed }: ProfileQuota, now: number): readonly Fact[] {
  const { dailyLimit, blocked, nextRequestAt, updatedAt, stateServer } = known;
  const window = windowIn(known);
  const rows: Fact[] = [['profile', profile ?? 'none (base URL from the environment)']];
  const unknown = refreshed ? 'the service sent no rate-limit headers' : 'run with --refresh to update';
  if (window) rows.push(...windowFacts('remaining', window, now));
  else rows.push(['remaining', `unknown (${unknown})`]);
  if (dailyLimit) rows.push(...windowFacts('daily limit', dailyLimit, now));
  if (blocked) rows.push(['blocked', `by ${REASONS[blocked.reason]}, ends ${formatTime(blocked.until, now)}`]);
  else if (nextRequestAt !== null) rows.push(['next request', formatTime(nextRequestAt, now)]);
  if (updatedAt !== null) rows.push(['updated', `${formatDuration(now - updatedAt)} ago`]);
  if (stateServer) rows.push(['shared', `with all machines that use ${stateServer}`]);
  if (!known.shared) rows.push(['shared', 'no (state directory is unavailable)']);
  return rows;
}

function windowFacts(name: string, { limit, remaining, resetAt }: QuotaWindow, now: number): readonly Fact[] {
  if (remaining !== null) {
    return [
      [name, formatRemaining(remaining, limit)],
      ['reset', formatTime(resetAt, now)],
    ];
  }
  const most = limit === null ? 'unknown' : formatMaximum(limit);
  return [
    [name, `${most} (run with --refresh to update)`],
    ['reset', `passed ${formatDuration(now - resetAt)} ago`],
  ];
}

export const quota = (): PetstoreCommand =>
  new PetstoreCommand('quota')
    .description('show the remaining quota, as of the last response')
    .option('--refresh', 'update it first with one GET /categories')
    .option('--clear', "clear this key's cached quota, including any block after a 429")
    .sections({
      notes: `Nothing is sent without --refresh. By default, all petstore processes of one user on one machine that use the same
key and base URL share the quota. A block after a 429 applies to all of them.`,
      output: `profile, remaining requests, limit, reset and last update; with --json {"profile", "limit", "remaining", "resetAt", "blocked",
"nextRequestAt", "dailyLimit", ...}. A value is null if unknown.`,
      exitCodes: READ_ERRORS,
      examples: [
        'petstore quota',
        'petstore quota --refresh -p staging',
        'petstore quota --json | jq .remaining',
        'petstore quota --clear',
      ],
    })
    .action(actionHandler(async () => quotaAction));
