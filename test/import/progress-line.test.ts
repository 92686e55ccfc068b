// The progress line of an import.
import { expect, test } from 'vitest';
import { startProgressLine } from '../../src/import/estimate.ts';
import type { QuotaView } from '../../src/rate-limit/quota-view.ts';
import { FakeClock } from '../support/fake-clock.ts';

const START = 1_800_000_000_000;
const MINUTE = 60_000;
/** Terminals of 80 and 40 columns; five cells stay free. */
const [ROOM_80, ROOM_40] = [75, 35];

function quota(remaining: number, more: Partial<QuotaView> = {}, limit = 60): QuotaView {
  const view = { longWindow: undefined, blocked: undefined, nextAt: undefined, clockOffset: undefined };
  const window = { limit, remaining, resetAt: START + MINUTE, seenAt: START, over: false };
  return { ...view, window, windowMs: MINUTE, seenAt: START, inFlight: 0, shared: true, ...more };
}

interface Shown {
  readonly total?: number;
  readonly unknown?: number;
  readonly view?: QuotaView;
  readonly waiting?: boolean;
}

const unknownWindow = { view: quota(0, { windowMs: undefined }) };
const largest = { total: 299_999, view: quota(0, {}, 1000) };
const soon = { view: quota(0, { nextAt: START + 61_050 }), waiting: true };

test.each<[string, string, number, Shown, number?]>([
  ['fits 80 columns', '118 of 900 · 13m left · quota 2 of 60', 118, {}, ROOM_80],
  ['has no quota at 40 columns', '118 of 900 · 13m left', 118, {}, ROOM_40],
  ['keeps the time left at 40 columns', '199,999 of 299,999 · 1h 40m left', 199_999, largest, ROOM_40],
  ['names the rows in a pipe', '118 of 900 rows done · 13m left · quota 2 of 60', 118, {}],
  ['omits the quota during a wait', '118 of 900 · 14m left', 118, { view: quota(0), waiting: true }, ROOM_80],
  ['counts rows to look up', '890 of 900 · 1m left · quota 2 of 60 · 3 to look up', 890, { unknown: 3 }, ROOM_80],
  ['shows no time after the last row', '900 of 900 · quota 2 of 60', 900, {}, ROOM_80],
  ['needs two resets', '118 of 900 · time left unknown', 118, unknownWindow, ROOM_40],
  ['knows the time to the only reset that is needed', '840 of 900 · 1m left', 840, unknownWindow, ROOM_40],
  ['shows the wait for the next request to the second', '895 of 900 · 1m 2s left', 895, soon, ROOM_80],
])('the progress line %s: %s', (_what, expected, done, shown, room) => {
  const { total = 900, unknown = 0, view = quota(2), waiting = false } = shown;
  const [getView, isWaiting] = [() => view, () => waiting];
  const show = startProgressLine(total, new FakeClock(START), getView, isWaiting);
  expect(show({ done, created: done, unknown }, room)).toBe(expected);
});

test.each([
  ['without a window, from the pace with waits', undefined, '6m'],
  ['in an open window, from the pace without waits', quota(60_000, {}, 60_000).window, '3m'],
])('the time left is derived %s', async (_what, window, expected) => {
  const clock = new FakeClock(START);
  const results = { done: 0, created: 0, unknown: 0 };
  let waiting = false;
  const [view, isWaiting] = [() => quota(0, { window }), () => waiting];
  const show = startProgressLine(2000, clock, view, isWaiting);
  // Time before the first line, such as a prompt, does not count toward the pace.
  await clock.sleep(20_000);
  expect(show(results)).not.toContain('left ·');
  await clock.sleep(20_000);
  Object.assign(results, { done: 200, created: 200 });
  expect(show(results)).toContain('200 of 2,000 rows done · 3m left');
  waiting = true;
  await clock.sleep(20_000);
  expect(show(results)).toContain(`200 of 2,000 rows done · ${expected} left`);
});
