// The progress line of an import.
import { expect, test } from 'vitest';
import { startProgressLine } from '../../src/import/estimate.ts';
import type { QuotaView } from '../../src/rate-limit/quota-view.ts';
import { FakeClock } from '../support/fake-clock.ts';

const START = 1_800_000_000_000;
const MINUTE = 60_000;
/** Terminals of 80, 60, 59 and 40 columns; five cells stay free. */
const ROOM_80 = 75;
const ROOM_60 = 55;
const ROOM_59 = 54;
const ROOM_40 = 35;

function quota(remaining: number, more: Partial<QuotaView> = {}): QuotaView {
  return {
    window: { limit: 60, remaining, resetAt: START + MINUTE, seenAt: START, over: false },
    windowMs: MINUTE,
    longWindow: undefined,
    blocked: undefined,
    seenAt: START,
    nextAt: undefined,
    inFlight: 0,
    clockOffset: undefined,
    shared: true,
    ...more,
  };
}

interface Shown {
  readonly done: number;
  readonly total?: number;
  readonly unknown?: number;
  readonly view?: QuotaView;
  readonly waiting?: boolean;
}

function line({ done, total = 900, unknown = 0, view = quota(2), waiting = false }: Shown, room?: number): string {
  const show = startProgressLine(
    total,
    new FakeClock(START),
    () => view,
    () => waiting,
  );
  return show({ done, created: done, unknown }, room);
}

test.each<[string, number | undefined, string]>([
  ['at 80 columns', ROOM_80, '█░░░░░░░░░░░ 118 of 900 · 13m left · quota 2 of 60'],
  ['at 60 columns', ROOM_60, '█░░░░░░░░░░░ 118 of 900 · 13m left · quota 2 of 60'],
  ['at 59 columns', ROOM_59, '118 of 900 · 13m left · quota 2 of 60'],
  ['at 40 columns', ROOM_40, '118 of 900 · 13m left'],
  ['in a pipe', undefined, '118 of 900 rows done · 13m left · quota 2 of 60'],
])('the progress line %s shows rows done, time left, and the bar and quota that fit', (_what, room, expected) => {
  expect(line({ done: 118 }, room)).toBe(expected);
});

test('the progress line omits the quota while the import waits', () => {
  expect(line({ done: 118, view: quota(0), waiting: true }, ROOM_80)).toBe('█░░░░░░░░░░░ 118 of 900 · 14m left');
});

test('the progress line of the largest imports keeps the time left at 40 columns', () => {
  const view = quota(0, { window: { limit: 1000, remaining: 0, resetAt: START + MINUTE, seenAt: START, over: false } });
  expect(line({ done: 199_999, total: 299_999, view }, ROOM_40)).toBe('199,999 of 299,999 · 1h 40m left');
});

test('the progress line counts the rows to look up', () => {
  expect(line({ done: 890, unknown: 3 })).toBe('890 of 900 rows done · 1m left · quota 2 of 60 · 3 to look up');
});

test('the progress line shows no time left after the last row', () => {
  expect(line({ done: 900 }, ROOM_80)).toBe('████████████ 900 of 900 · quota 2 of 60');
});

test('the time left is unknown until two resets have been seen, unless the import ends after one', () => {
  const view = quota(0, { windowMs: undefined });
  expect(line({ done: 118, view, waiting: true })).toBe('118 of 900 rows done · time left unknown');
  expect(line({ done: 840, view, waiting: true })).toBe('840 of 900 rows done · 1m left');
});

test('the time left is never shorter than the wait for the next request', () => {
  const view = quota(0, { nextAt: START + 61_050 });
  expect(line({ done: 895, view, waiting: true })).toBe('895 of 900 rows done · 1m 2s left');
});

test.each([
  ['without a window the time left is derived from the pace, waits included', undefined, '6m'],
  ['in an open window the time left is derived from the pace without waits', quota(60_000).window, '3m'],
])('%s', async (_what, window, expected) => {
  const clock = new FakeClock(START);
  const results = { done: 0, created: 0, unknown: 0 };
  let waiting = false;
  const show = startProgressLine(
    2000,
    clock,
    () => quota(0, { window: window && { ...window, limit: 60_000 } }),
    () => waiting,
  );
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
