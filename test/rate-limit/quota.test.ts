// The rate limit as shown by commands.
import { expect, test } from 'vitest';
import { quotaLine, quotaOf } from '../../src/rate-limit/quota.ts';
import { RULES } from '../../src/rate-limit/rules.ts';
import { bare, history, refused, START, seen } from '../support/records.ts';

const HOUR = 3_600_000;
const ALONE = { shared: true, stateServer: null };

test('the quota after a response shows limit, remaining requests and reset, and no wait', () => {
  const quota = quotaOf(history({ take: START }, seen(START)), START + 10);
  expect(quota).toMatchObject({ limit: 60, remaining: 59, resetAt: START + 60_000, resetPassed: false });
  expect(quota).toMatchObject({ blocked: null, nextRequestAt: null, inFlight: 0 });
  expect(quotaLine({ ...quota, ...ALONE }, START + 17_000)).toBe('quota: 59 of 60 left, resets in 43s');
});

test('the quota after a 429 that states a wait shows the block and its reason', () => {
  const quota = quotaOf(history({ take: START }, refused(START)), START + 10);
  const blocked = { until: START + 5000, since: START, reason: 'retry_after', consecutive429s: 1 };
  expect(quota).toMatchObject({ blocked, nextRequestAt: START + 5000 });
  expect(quotaLine({ ...quota, ...ALONE }, START + 1000)).toBe('quota: rate limited, try again in 4s');
});

test('the window is shown after a wait that no header stated, but not during it', () => {
  const silent = { waitMs: undefined, waitFrom: 'backoff' } as const;
  const late = seen(START + 2, { status: 429, refused: true });
  const steps = [{ take: START }, seen(START), { take: START + 1 }, late, { take: START + 2000 }];
  const state = history(...steps, refused(START + 2010, silent));
  expect(state.window?.remaining).toBeGreaterThan(50);
  const during = quotaOf(state, START + 2020);
  expect(during).toMatchObject({ limit: null, blocked: { reason: 'backoff' } });
  const { until = 0 } = state.block ?? {};
  const after = quotaOf(state, until);
  expect(after).toMatchObject({ limit: 60, blocked: null, nextRequestAt: null });
});

test('the quota during a gap shows the wait and no window', () => {
  const state = history({ take: START }, bare(START));
  state.pace = { ...state.pace, step: RULES.gapSteps, widestMs: 3000 };
  expect(quotaOf(state, START + 10)).toMatchObject({ limit: null, nextRequestAt: START + 3000 });
});

test('the daily window is shown next to the minute window, or alone if no other is known', () => {
  const reset = { at: START + 9 * HOUR, clock: 'service', resolution: 1000 } as const;
  const day = seen(START, { limit: 1000, remaining: 500, reset });
  const alone = quotaOf(history({ take: START }, day), START + 1);
  expect(alone).toMatchObject({ limit: 1000, dailyLimit: null });
  const state = history({ take: START }, day);
  state.window = history({ take: START }, seen(START)).window;
  expect(quotaOf(state, START + 1)).toMatchObject({ limit: 60, dailyLimit: { limit: 1000 } });
});
