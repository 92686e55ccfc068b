// Checks of options, with values at their limits.
import { expect, test } from 'vitest';
import { MAX_TIMER_MS } from '../../src/clock.ts';
import { checkOptions, checkPath, checkTimeout, checkWholeNumber } from '../../src/settings/check-options.ts';

test.each([1, 10, '10'])('the option value %j is accepted as a whole number from 1 to 10', (value) => {
  expect(checkWholeNumber(value, 'n', 1, 10)).toBe(Number(value));
});

test.each([[0], [11], [''], [' 5'], [1.5], ['0x5'], [[5]]])(
  'the option value %j is rejected if a whole number from 1 to 10 is required',
  (value) => {
    expect(() => checkWholeNumber(value, 'n', 1, 10)).toThrow(expect.objectContaining({ kind: 'usage' }));
  },
);

test('a timeout is rounded up to whole milliseconds and capped at the maximum of a timer, and 0 is rejected', () => {
  expect([checkTimeout(0.2), checkTimeout(1e12)]).toEqual([1, MAX_TIMER_MS]);
  expect(() => checkTimeout(0)).toThrow('timeoutMs must be greater than 0');
});

test('undefined and null count as no options', () => {
  for (const none of [undefined, null]) expect(checkOptions(none, ['a'], 'f')).toEqual({});
});

test('a path that is empty, contains NUL or is not a string is rejected, and undefined is accepted', () => {
  expect([checkPath(undefined, 'data'), checkPath('x', 'data')]).toEqual([undefined, 'x']);
  for (const path of ['', 'a\0b', 5]) expect(() => checkPath(path, 'data')).toThrow('data must be a path');
});
