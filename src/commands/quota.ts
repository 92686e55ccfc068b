// `petstore quota`: shows limit, remaining and reset, and a block of the key with its reason.
import type { Action } from '../command.ts';
import { formatDuration, formatRemaining, formatTime } from '../format.ts';
import { toQuota } from '../rate-limit/quota.ts';
import type { QuotaView, WindowView } from '../rate-limit/quota-view.ts';

interface QuotaOptions {
  readonly refresh?: boolean;
  readonly clear?: true;
}

interface ProfileQuota {
  readonly profile: string;
  readonly known: QuotaView;
  /** Whether the quota is that of a response to this command. */
  readonly refreshed: boolean;
}

export const quotaAction: Action<QuotaOptions, ProfileQuota> = {
  async run(session, { clear, refresh: refreshed = false }) {
    const { profile } = await session.target();
    const ledger = await session.ledger();
    if (clear) {
      await ledger.forget();
      await session.notice('Cleared the cached quota');
    }
    if (refreshed) await (await session.api()).categories.list();
    await ledger.refresh();
    return { profile, known: ledger.view(), refreshed };
  },
  view: {
    json: ({ profile, known }) => ({ profile, ...toQuota(known, (at) => new Date(at).toISOString()) }),
    text: (data, { now }) => facts(data, now).map(([name, text]) => `${name.padEnd(14)}${text}\n`),
  },
};

const REASONS: Readonly<Record<NonNullable<QuotaView['blocked']>['reason'], string>> = {
  retry_after: 'Retry-After',
  reset: 'the reset time',
  backoff: 'exponential backoff',
};

type Fact = readonly [name: string, text: string];

function facts({ profile, known, refreshed }: ProfileQuota, now: number): readonly Fact[] {
  const { window, longWindow, blocked, nextAt, seenAt, stateServer } = known;
  const nearest = window ?? longWindow;
  const rows: Fact[] = [['profile', profile]];
  const unknown = refreshed ? 'the service sent no rate limit headers' : 'run with --refresh to update';
  if (nearest) rows.push(...windowFacts('remaining', nearest, now));
  else rows.push(['remaining', `unknown (${unknown})`]);
  if (window && longWindow) rows.push(...windowFacts('daily limit', longWindow, now));
  if (blocked) rows.push(['blocked', `by ${REASONS[blocked.reason]}, ends ${formatTime(blocked.until, now)}`]);
  else if (nextAt !== undefined) rows.push(['next request', formatTime(nextAt, now)]);
  if (seenAt !== undefined) rows.push(['updated', `${formatDuration(now - seenAt)} ago`]);
  if (stateServer) rows.push(['shared', `with all machines that use ${stateServer}`]);
  if (!known.shared) rows.push(['shared', 'no (state directory is not writable)']);
  return rows;
}

function windowFacts(name: string, { limit, remaining, resetAt, over }: WindowView, now: number): readonly Fact[] {
  const passed = `passed ${formatDuration(now - resetAt)} ago (run with --refresh to update)`;
  return [
    [name, formatRemaining(remaining, limit)],
    ['reset', over ? passed : formatTime(resetAt, now)],
  ];
}
