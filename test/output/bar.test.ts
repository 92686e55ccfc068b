// The bar of import progress.
import { expect, test } from 'vitest';
import { bar } from '../../src/output/bar.ts';

test.each([
  [1, 2000, '█░░░░░░░░░░░░░░░'],
  [1999, 2000, '███████████████░'],
  [61, 60, '████████████████'],
  [0, 0, '░░░░░░░░░░░░░░░░'],
])('the bar for %d of %d is %s', (part, whole, expected) => {
  expect(bar(part, whole, 16)).toBe(expected);
});
