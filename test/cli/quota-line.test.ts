// The quota line that commands print.
import { expect, test } from 'vitest';
import { formatQuotaLine } from '../../src/cli/command.ts';
import { quotaOf } from '../../src/rate-limit/quota.ts';
import { play, START } from '../support/records.ts';

const HOUR = 3_600_000;

/** The line `ms` milliseconds after START. */
function lineAt(ms: number, state = play('0 take a, 0 ok a'), profile?: string): string | undefined {
  const quota = { ...quotaOf(state, START + ms), shared: true, stateServer: null };
  return formatQuotaLine(quota, START + ms, profile);
}

test('the quota line shows limit, remaining requests and reset, and after a 429 the wait', () => {
  expect(lineAt(17_000)).toBe('quota: 59 of 60 left, resets in 43s');
  expect(lineAt(1000, play('0 take a, 0 429 a'), 'farm')).toBeUndefined();
});

test('after a reset, the quota line shows the daily window, if one is known', () => {
  expect(lineAt(60_000)).toBeUndefined();
  const daily = play(`0 take a, 0 ok a limit=1000 left=500 reset=${9 * HOUR}`).window;
  const state = { ...play('0 take a, 0 ok a'), daily };
  expect([lineAt(61_000, state), lineAt(10 * HOUR, state)]).toEqual([
    'quota: 500 of 1,000 left, resets in 8h 59m',
    undefined,
  ]);
});
