// The quota line, which commands print to stderr.
import type { Quota } from '../../rate-limit/quota.ts';
import { windowIn } from '../../rate-limit/quota.ts';
import { formatDuration, formatRemaining } from '../../text/format.ts';

/**
 * The quota line printed after a command that received a response.
 * @param profile whose URL and key were used, if they are those of a profile
 * @returns for example `quota (staging): 57 of 60 left, resets in 43s`; undefined if unknown
 */
export function formatQuotaLine(quota: Quota, now: number, profile?: string): string | undefined {
  // After a 429, the error or the progress states the wait.
  if (quota.blocked) return undefined;
  const subject = profile === undefined ? 'quota' : `quota (${profile})`;
  const nearest = windowIn(quota);
  const window = nearest?.resetPassed ? quota.dailyLimit : nearest;
  if (!window || window.remaining === null) return undefined;
  const left = formatRemaining(window.remaining, window.limit);
  return left === 'unlimited'
    ? `${subject}: ${left}`
    : `${subject}: ${left} left, resets in ${formatDuration(window.resetAt - now)}`;
}
