// The length of a window, which no header states.
import { expect, test } from 'vitest';
import type { KeyState } from '../../src/rate-limit/policy.ts';
import { initialState } from '../../src/rate-limit/policy.ts';
import { quotaOf } from '../../src/rate-limit/quota.ts';
import { respond, START, seen, ticket } from '../support/records.ts';

const SECOND = 1000;

/** Reduces responses, each as `at reset [limit]` in seconds. */
function reduced(responses: string): KeyState {
  const state = initialState();
  for (const [number, response] of responses.split(', ').entries()) {
    const [at = 0, reset = 0, limit = 60] = response.split(' ').map(Number);
    ticket(state, START + at * SECOND, `t${number}`);
    const resetAt = { at: START + reset * SECOND, clock: 'local', resolution: SECOND } as const;
    respond(state, `t${number}`, seen(START + at * SECOND, { limit, remaining: limit - 1, reset: resetAt }));
  }
  return state;
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
