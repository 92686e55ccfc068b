// The quota, derived from the state of a ledger.
import { expect, test } from 'vitest';
import { quotaOf } from '../../src/rate-limit/quota.ts';
import { play, START } from '../support/records.ts';

const HOUR = 3_600_000;

test('the quota after a response shows the limit, the remaining requests and the reset, and no wait', () => {
  const quota = quotaOf(play('0 take a, 0 ok a'), START + 10);
  expect(quota).toMatchObject({ limit: 60, remaining: 59, resetAt: START + 60_000, resetPassed: false });
  expect(quota).toMatchObject({ blocked: null, nextRequestAt: null, inFlight: 0 });
});

test('the quota after a 429 that states a wait shows the block and its reason', () => {
  const quota = quotaOf(play('0 take a, 0 429 a'), START + 10);
  const blocked = { until: START + 5000, since: START, reason: 'retry_after', consecutive429s: 1 };
  expect(quota).toMatchObject({ blocked, nextRequestAt: START + 5000 });
});

test('the quota hides the window during a backoff and shows the window afterwards', () => {
  const silent = 'wait=none from=backoff';
  const late = `1 take b, 2 429 b limit=60 left=59 reset=60000 ${silent}`;
  const state = play(`0 take a, 0 ok a, ${late}, 2000 take c, 2010 429 c ${silent}`);
  expect(state.window?.remaining).toBeGreaterThan(50);
  const during = quotaOf(state, START + 2020);
  expect(during).toMatchObject({ limit: null, blocked: { reason: 'backoff' } });
  const { until = 0 } = state.block ?? {};
  const after = quotaOf(state, until);
  expect(after).toMatchObject({ limit: 60, blocked: null, nextRequestAt: null });
});

test('after a reset, the remaining quota is unknown', () => {
  const state = play('0 take a, 0 ok a');
  expect(quotaOf(state, START + 59_999)).toMatchObject({ remaining: 59, resetPassed: false });
  const passed = quotaOf(state, START + 60_000);
  expect(passed).toMatchObject({ limit: 60, remaining: null, resetAt: START + 60_000, resetPassed: true });
});

test('the quota shows the daily window next to the minute window, or alone if no other window is known', () => {
  const day = [500, 499].map((left) => `0 take a, 0 ok a limit=1000 left=${left} reset=${9 * HOUR}`).join(', ');
  expect(quotaOf(play(day), START + 1)).toMatchObject({ limit: 1000, dailyLimit: null });
  const state = { ...play(day), window: play('0 take a, 0 ok a').window };
  expect(quotaOf(state, START + 1)).toMatchObject({ limit: 60, dailyLimit: { limit: 1000, remaining: 499 } });
});
