// The length of a window, which no header states.
import { expect, test } from 'vitest';
import type { KeyState } from '../../src/rate-limit/policy.ts';
import { quotaOf } from '../../src/rate-limit/quota.ts';
import { play, START } from '../support/records.ts';

const SECOND = 1000;

/** Reduces responses, each as `at reset [limit]` in seconds. */
function reduced(responses: string): KeyState {
  const steps = responses.split(', ').map((response, id) => {
    const [at = 0, reset = 0, limit = 60] = response.split(' ').map(Number);
    const facts = `limit=${limit} left=${limit - 1} local-reset=${reset * SECOND}`;
    return `${at * SECOND} take t${id}, ${at * SECOND} ok t${id} ${facts}`;
  });
  return play(steps.join(', '));
}

test.each([
  ['one reset', '10 60, 20 60', 'unknown'],
  ['two resets, the second reported right after the first', '10 60, 61 120', '60 s'],
  ['two resets with an idle time between them', '10 60, 90 150', 'unknown'],
  ['two resets and an idle time', '10 60, 61 120, 500 540', '60 s'],
  ['two resets half an hour apart, reported within three minutes', '10 1800, 1900 3600', '1800 s'],
  ['two resets and a longer window', '10 60, 61 120, 500 2300', 'unknown'],
  ['two resets and another limit', '10 60, 61 120, 121 180 300', 'unknown'],
  ['resets that move with each request', '10 60, 20 70, 30 80', 'unknown'],
])('the length of a window after %s (%s) is %s', (_what, responses, expected) => {
  const { windowMs } = quotaOf(reduced(responses), START);
  expect(windowMs === null ? 'unknown' : `${windowMs / SECOND} s`).toBe(expected);
});

test('a window of another limit does not make the next one brief, so the full guard applies', () => {
  expect(reduced('0 100 60, 102 108 5').window?.guardMs).toBe(SECOND);
});
