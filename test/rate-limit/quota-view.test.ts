// The rate limit as shown by commands.
import { expect, test } from 'vitest';
import type { Observation } from '../../src/rate-limit/ledger-record.ts';
import { quotaLine, quotaView } from '../../src/rate-limit/quota-view.ts';
import { RULES } from '../../src/rate-limit/rules.ts';
import { bare, history, refused, START, seen } from '../support/records.ts';

const HOUR = 3_600_000;
const other = (at: number, more: Partial<Observation> = {}): Observation =>
  seen(at, {
    limit: 5000,
    remaining: 4980,
    reset: { at: START + 9 * HOUR, clock: 'service', resolution: 1000 },
    ...more,
  });

test('the quota after a response shows limit, remaining requests and reset, and no wait', () => {
  const view = quotaView(history({ take: START }, seen(START)), START + 10, true);
  expect(view).toMatchObject({ window: { limit: 60, remaining: 59, resetAt: START + 60_000, over: false } });
  expect([view.blocked, view.nextAt, view.inFlight]).toEqual([undefined, undefined, 0]);
  expect(quotaLine(view, START + 17_000)).toBe('quota: 59 of 60 left, resets in 43s');
});

test('the quota after a 429 that states a wait shows the block and its reason', () => {
  const view = quotaView(history({ take: START }, refused(START)), START + 10, true);
  const blocked = { until: START + 5000, since: START, reason: 'retry_after', refusals: 1 };
  expect(view).toMatchObject({ blocked, nextAt: START + 5000 });
  expect(quotaLine(view, START + 1000)).toBe('quota: rate limited, try again in 4s');
});

test('the window is shown after a wait that no header stated, but not during it', () => {
  const silent = { waitMs: undefined, waitFrom: 'backoff' } as const;
  const steps = [{ take: START }, other(START), { take: START + 1 }, other(START + 2, { status: 429, refused: true })];
  const state = history(...steps, { take: START + 2000 }, refused(START + 2010, silent));
  expect(state.window?.remaining).toBeGreaterThan(4000);
  const during = quotaView(state, START + 2020, true);
  expect(during).toMatchObject({ window: undefined, blocked: { reason: 'backoff' } });
  const { until = 0 } = state.block ?? {};
  const after = quotaView(state, until, true);
  expect(after).toMatchObject({ window: { limit: 5000 }, blocked: undefined, nextAt: undefined });
});

test('the quota during a gap shows the wait and no window', () => {
  const state = history({ take: START }, bare(START));
  state.pace = { ...state.pace, step: RULES.gapSteps, widestMs: 3000 };
  expect(quotaView(state, START + 10, true)).toMatchObject({ window: undefined, nextAt: START + 3000 });
});

test('the daily window is shown next to the minute window, or alone if no other is known', () => {
  const day = other(START, { limit: 1000, remaining: 500 });
  const alone = quotaView(history({ take: START }, day), START + 1, true);
  expect(alone).toMatchObject({ window: { limit: 1000 }, longWindow: undefined });
  const state = history({ take: START }, day);
  state.window = history({ take: START }, seen(START)).window;
  expect(quotaView(state, START + 1, true)).toMatchObject({ window: { limit: 60 }, longWindow: { limit: 1000 } });
});
